// answering_plan.h: AnsweringPlan, a plan by which SELECTs are answered on the sessions that ask for them.
#pragma once

#include "base/output.h"
#include "engine/mariadb/hosted/plans/table_plan.h"

namespace postern::mariadb {

class KeptPlans;
class SessionReader;

/// What a thread has to answer with.
struct ReadTools {
  SessionReader &reads;
  KeptPlans *plans = nullptr;  ///< nullptr: it keeps none
};

/// Shared by threads; nothing in it blocks.
class AnsweringPlan : public TablePlan {
 public:
  /// Answers the statement in `thd`, which the calling thread is attached to and which rests between two commands.
  /// Everything is written to `output`; or, if there is a reason why not, nothing, and the session is as it was.
  /// `columns`: what its client has been told of them before, and is then; nullptr: it is told them each time.
  virtual std::optional<NotNow> answer(THD *thd, ReadTools tools, const Statement &statement, Output &output,
                                       ClientMetadata *columns) const = 0;
  /// After the server has given `answer` to a statement. `before`: version() as it was before that; `columns`: what it
  /// has noted of a prepared one then.
  virtual void learn(THD *thd, const Statement &statement, Bytes answer, uint64_t before,
                     const ClientMetadata &columns) const = 0;
  /// Whether rows may come in another order than the server's, as far as the statement does not ask for one.
  virtual bool leaves_order_open() const { return false; }
  /// Whether it answers only by plans that the thread keeps.
  virtual bool needs_plans() const { return false; }
};

}  // namespace postern::mariadb
