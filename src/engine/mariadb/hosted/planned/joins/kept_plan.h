// kept_plan.h: KeptPlan, a SELECT that the server's optimizer has planned once, and that is executed many times, in its
// clients' sessions.
//
// The server itself does so with a correlated subquery: it optimizes the subquery once, and executes it for each outer
// row, with that row's columns as outer references. Here the values of a statement are such outer references. The plan
// is made on a THD of the thread, which keeps its tables open, and executed with the session's THD attached and
// substituted everywhere: so transaction, read view, isolation, KILL and counters are the session's.
//
// Owned and used by one thread. join_plan.h lists the state of an execution that the next one must not see.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "contract/value.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/sql/packets/answer.h"

class MDL_ticket;
class THD;
struct charset_info_st;

namespace postern::mariadb {

/// The role of a value in a plan.
enum class ValueUse : uint8_t {
  shapes,   ///< part of the plan: another value needs another plan
  integer,  ///< varies between executions: compared with an integer column
  decimal,  ///< likewise, with a decimal column
  text,     ///< likewise, with a text column
  time,     ///< likewise, with a DATE or a DATETIME
  uuid,     ///< likewise, with a UUID
  sum,      ///< likewise, an integer in a compared sum
  limit,    ///< a LIMIT; the plan is made for sql::limit_class()
  offset,
};

struct ValuePlace {
  ValueUse use = ValueUse::shapes;
  const charset_info_st *charset = nullptr;  ///< a text's: that of its column; a UUID's: one of ASCII
  uint32_t bytes = 0;                        ///< a text's for a BINARY column: its bytes; others shape the plan
};

/// A statement to plan.
struct ToBePlanned {
  Bytes text;                            ///< with a ? for each value that varies, and no other
  Bytes as_said;                         ///< with the values of the first execution; empty: they cannot be written
  std::span<const ValuePlace> places;    ///< one for each
  std::span<const Value> values;         ///< values of the first execution: their ranges decide the index
  const std::vector<FormTable> &tables;  ///< that it reads
  const std::vector<FormView> &views;    ///< their SELECTs are in the text
  uint64_t version = 0;                  ///< version_of_tables()
  FormLock lock = FormLock::none;        ///< of the rows
  Bytes row_classes{};                   ///< as in Executed: it is for such values; empty: for any
};

/// Findings of an execution.
struct Executed {
  /// For each index that may be chosen because of it: the class of the number of rows equal to the execution's values.
  /// Before the execution: the classes that the plan was chosen for, empty if unknown. Afterwards, if it was not
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
  /// head of `answer` and rows are written to `packets`. On failure some rows may have been written, and the plan must
  /// not be used again if it is spent(). Examines at most `rows_max` rows.
  virtual std::optional<NotNow> execute(THD *thd, std::span<const Value> values, bool prepared, uint64_t rows_max,
                                        const sql::Answer &answer, sql::Packets &packets, Executed &executed) = 0;
  /// Whether it equals the server's own plan for any values, as far as is known: it examines their rows each time, and
  /// nothing else about them matters.
  virtual bool follows_values() const = 0;
  /// Notes that it is as good as other plans for values of these classes.
  virtual void serve(Bytes row_classes) = 0;
  /// Whether it was interrupted, and must not be executed again.
  virtual bool spent() const = 0;
  /// Whether the definitions of its tables have changed, so that it must not be used any more.
  virtual bool outdated() const = 0;
  /// Whether the statistics of its tables and indexes are similar to those when it was made.
  virtual bool is_worth_keeping() = 0;
  /// Whether another session waits for one of its tables.
  virtual bool wanted_by_others() const = 0;
  /// The metadata locks on its tables and views.
  virtual std::span<MDL_ticket *const> tickets() const = 0;
  /// Its approximate memory.
  virtual size_t bytes() const = 0;
  /// A short EXPLAIN: its tables in order, and how their rows are found.
  virtual const std::string &shown() const = 0;

 protected:
  KeptPlan() = default;
};

/// Makes a plan in `home`, a THD of the thread, in the context of `session`. nullptr: the statement is left to the
/// server for the reason `why`, a literal; a null `why`: only for the moment.
std::unique_ptr<KeptPlan> make_plan(THD *home, THD *session, const ToBePlanned &what, const char *&why);

}  // namespace postern::mariadb
