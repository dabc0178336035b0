// kept_plan.h: KeptPlan, a SELECT that the server's optimizer has planned once, and that is executed many times, in the
// sessions that ask for it.
//
// The server itself does so with a correlated subquery: it optimizes one at its first execution, and executes it again
// for each row around it, with that row's columns as outer references. Here the values of a statement are such outer
// references. The plan is made on a THD of the thread's own, which has its tables open as long as it is kept, and
// executed with the THD of the session attached and put in its place everywhere: so transaction, read view, isolation,
// KILL and counters are the session's.
//
// It is the thread's, which alone touches it. join_plan.h says what of an execution must not be seen by the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "contract/value.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/planned/form_parts.h"
#include "engine/sql/packets/answer.h"

class MDL_ticket;
class THD;
struct charset_info_st;

namespace postern::mariadb {

/// The part of a value in a plan.
enum class ValueUse : uint8_t {
  shapes,   ///< it is part of the plan: another value is another plan
  integer,  ///< each execution has one: compared with a column of integers
  decimal,  ///< likewise, with a column of decimals
  text,     ///< likewise, with a column of texts
  time,     ///< likewise, with a DATE or a DATETIME
  sum,      ///< likewise, an integer in a sum that is compared
  limit,    ///< of LIMIT; the plan is made for sql::limit_class()
  offset,
};

struct ValuePlace {
  ValueUse use = ValueUse::shapes;
  const charset_info_st *charset = nullptr;  ///< a text's: that of its column
};

/// A statement to be planned.
struct ToBePlanned {
  Bytes text;                            ///< with a ? for each value of an execution, and no other
  Bytes as_said;                         ///< with the values of the first execution; empty: they cannot be written
  std::span<const ValuePlace> places;    ///< one for each
  std::span<const Value> values;         ///< those of the first execution: its ranges show which index is good
  const std::vector<FormTable> &tables;  ///< that it reads
  const std::vector<FormView> &views;    ///< their SELECTs are in the text
  uint64_t version = 0;                  ///< version_of_tables()
  FormLock lock = FormLock::none;        ///< of the rows
  Bytes row_classes{};                   ///< as in Executed: it is for such values; empty: for any
};

/// What an execution has met.
struct Executed {
  /// How many rows are equal to its values in each index that may be chosen by that: a class for each.
  /// Before the execution: those that the plan was chosen for, empty if nobody has looked. Afterwards, if it was not
  /// executed for them: another plan may be better.
  std::string row_classes;
  uint64_t examined = 0;
  uint64_t sent = 0;
  uint64_t found = 0;  ///< FOUND_ROWS()
};

class KeptPlan {
 public:
  virtual ~KeptPlan() = default;
  KeptPlan(const KeptPlan &) = delete;
  KeptPlan &operator=(const KeptPlan &) = delete;

  /// Executes it in `thd`, which this thread is attached to, between SessionStatement's beginning and its commit(). The
  /// head of `answer` and rows are written to `packets`. Unless it is answered there may be some, and the plan is not
  /// to be used again if it is spent(). `rows_max` rows are examined, not more.
  virtual std::optional<NotNow> execute(THD *thd, std::span<const Value> values, bool prepared, uint64_t rows_max,
                                        const sql::Answer &answer, sql::Packets &packets, Executed &executed) = 0;
  /// Whether it is the server's own plan for each execution's values, as far as is known: it looks at their
  /// rows each time, and nothing else about them matters.
  virtual bool follows_values() const = 0;
  /// It is as good a plan as others for values of these classes.
  virtual void serve(Bytes row_classes) = 0;
  /// It was interrupted, and is not to be executed again.
  virtual bool spent() const = 0;
  /// Its tables are not to be used any more, for their definitions are others.
  virtual bool outdated() const = 0;
  /// The statistics of its tables and indexes are much as they were when it was made.
  virtual bool is_worth_keeping() = 0;
  /// Somebody waits for a table of it.
  virtual bool wanted_by_others() const = 0;
  /// The metadata locks on its tables and views.
  virtual std::span<MDL_ticket *const> tickets() const = 0;
  /// Of memory, about.
  virtual size_t bytes() const = 0;
  /// As EXPLAIN would, in short: tables in their order, and how their rows are found.
  virtual const std::string &shown() const = 0;

 protected:
  KeptPlan() = default;
};

/// Makes one in `home`, a THD of the thread's own, in the context of `session`. nullptr: the statement is the server's,
/// and `why` says why, a literal; nullptr there: for the moment only.
std::unique_ptr<KeptPlan> make_plan(THD *home, THD *session, const ToBePlanned &what, const char *&why);

}  // namespace postern::mariadb
