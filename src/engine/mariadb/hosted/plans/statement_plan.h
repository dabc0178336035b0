// statement_plan.h: StatementPlan, the interface of a plan, which answers statements of one form without the server's
// parser: it decides whether a session allows that, answers, and learns while the server serves such statements.
//
// Each class of statements derives one, in a folder of its own (reads, writes, planned); only learn.cc knows them all.
//
// An answer belongs to a definition of the table and to a shape (AnswerShape). It is valid only if the table had one
// definition from before the server began until after it was done: so the definition is noted after each served
// statement (version()), and an answer is learnt if it is still the same after the next.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/output.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/plans/prepared_answers.h"
#include "engine/mariadb/hosted/plans/why_not.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/sql/plans/trials.h"

class THD;
struct st_my_thread_var;

namespace postern {
struct Op;
}
namespace postern::sql {
class RecentHousekeeping;
}

namespace postern::mariadb {

class KeptPlans;
class ReadTables;
class SharedWrites;

/// One execution, in an idle session that has lent its THD to the calling thread.
struct Asked {
  THD *thd;
  st_my_thread_var *mysys;  ///< the THD's
  const Statement &statement;
  bool prepared;  ///< COM_STMT_EXECUTE, with rows in binary form
  /// In and out: the metadata that its client has cached; nullptr: it caches none.
  ClientMetadata *columns = nullptr;
  uint64_t rows_read = 0;  ///< counted by the server, if it has answered
};

/// Tools of the calling thread; nullptr: none.
struct AnswerTools {
  KeptPlans *plans = nullptr;
  ReadTables *reads = nullptr;
  SharedWrites *shared = nullptr;
  sql::RecentHousekeeping *recent_texts = nullptr;
  Op *op = nullptr;  ///< of the statement
  Counters *counters = nullptr;
  bool answer_may_wait = false;  ///< the answer may wait for a flush: Op::unflushed
};

/// Shared by threads; lock-free. Everything learnt lives as long as the plan.
class StatementPlan : public Plan {
 public:
  struct Table {
    const std::string &database;
    const std::string &name;
  };

  bool holds() const override { return off_.load(std::memory_order_relaxed) == nullptr; }

  /// The table, or the first of several, as the statement names it.
  virtual Table table() const = 0;
  /// Whether the account of `thd` has the plan's rights, as far as that is known without the table. If not, an error
  /// may be set.
  virtual bool is_granted(THD *thd) const = 0;
  /// Examines the table, so that version() is known, in `thd`, which is idle. Returns why the present table does not
  /// allow answers; no reason if the table cannot be opened now.
  virtual std::optional<WhyNot> look(THD *thd) const = 0;

  /// After session_allows(): why it may not answer in the session's present state.
  virtual std::optional<NotNow> may(THD *thd) const = 0;
  /// Answers: everything is written to `output`, or the op waits for a commit. If it returns a reason instead, nothing
  /// has happened and the session is unchanged.
  virtual std::optional<NotNow> answer(const Asked &asked, const AnswerTools &tools, Output &output) const = 0;
  /// Called after the server has given `answer` to the statement. `before`: version() before that; Asked::columns: its
  /// present note of a prepared one.
  virtual void learn(const Asked &asked, Bytes answer, uint64_t before) const = 0;

  /// Whether answers are repeatable while no rows change, and have no side effects.
  virtual bool can_be_compared() const { return false; }
  /// Whether the answer depends on the current time.
  virtual bool is_of_time() const { return false; }
  /// Whether rows may come in another order than the server's where ORDER BY leaves it open.
  virtual bool leaves_order_open() const { return false; }
  /// Whether it leaves some statements because of the rows that they find. Known after look().
  virtual bool leaves_some() const { return false; }
  /// Whether its answers have rows, and so column metadata.
  virtual bool sends_rows() const { return true; }
  /// Whether it answers only by plans kept by the thread.
  virtual bool needs_plans() const { return false; }

  /// The last known definition of the table, TABLE_SHARE::get_table_ref_version(); 0: none.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// The server's answer to PREPARE of such a statement, with its notes; nullptr: unknown.
  const PreparedAnswer *prepared(THD *thd) const { return prepared_.find(thd, version()); }
  /// See PreparedAnswers::learn().
  void learn_prepared(THD *thd, Bytes answer, uint64_t before, const ClientMetadata &columns) const {
    prepared_.learn(*this, thd, answer, before, columns);
  }

  /// Counts a statement that was left to the server, with the reason.
  void note_left(NotNow why) const {
    left_.fetch_add(1, std::memory_order_relaxed);
    if (why == NotNow::in_vain) return;
    // Learning removes this reason, which is the least informative one.
    if (why == NotNow::not_learnt && left_for_.load(std::memory_order_relaxed)) return;
    left_for_.store(why, std::memory_order_relaxed);
  }
  void note_unsuited() const override { note_left(NotNow::execution); }
  /// Notes the result of answer(): nullopt is success. After too many failures the plan pauses for a while.
  void note_tried(std::optional<NotNow> why) const {
    note_trial(!why ? -2 * sql::Trials::cost_usual : is_in_vain(*why) ? sql::Trials::cost_usual : 0);
  }
  /// The same for a caller with other costs (trials.h).
  void note_trial(int32_t cost) const { trials_.note(cost); }
  /// Whether it pauses.
  bool rests() const { return trials_.rest(); }
  /// During a pause: whether to learn from this statement nevertheless, because DDL may have changed everything.
  bool looks_while_resting() const { return trials_.looks(); }
  /// Nothing was learnt from the server's answer; `why`: the reason, a literal.
  void note_unlearnt(const char *why) const { unlearnt_.store(why, std::memory_order_relaxed); }
  /// Turns the plan off; `why`: the reason, a literal.
  void switch_off(const char *why) const { off_.store(why, std::memory_order_relaxed); }

 protected:
  void note_version(uint64_t version) const {
    if (version_.exchange(version, std::memory_order_acq_rel) != version) trials_.begin_anew();
  }
  /// Called when the plan has learnt more: trials that failed before may succeed now.
  void note_learnt() const { trials_.begin_anew(); }
  /// Whether there is room to learn one more; if not, turns the plan off.
  bool may_learn() const;
  /// Why it is off; empty: it is on.
  std::string_view off() const;
  /// Adds the facts common to all plans, once it is known whether it answers.
  void add_facts(PlanFacts &facts) const;

 private:
  friend class PreparedAnswers;

  mutable std::atomic<uint64_t> version_{0};
  mutable sql::Trials trials_;
  mutable PreparedAnswers prepared_;
  mutable std::atomic<uint32_t> known_count_{0};
  mutable std::atomic<const char *> off_{nullptr};
  mutable std::atomic<const char *> unlearnt_{nullptr};
  mutable std::atomic<uint64_t> left_{0};
  mutable std::atomic<std::optional<NotNow>> left_for_{};
};

/// The statement's plan, if any: all plans come from this engine.
inline const StatementPlan *plan_of(const Statement &statement) {
  return static_cast<const StatementPlan *>(statement.plan);
}

}  // namespace postern::mariadb
