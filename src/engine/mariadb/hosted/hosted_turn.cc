#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/hosted_session.h"

#include <new>
#include <optional>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/thd/attachment.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/housekeeping.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/plans/answering_plan.h"
#include "engine/mariadb/hosted/rows/session_read.h"
#include "engine/mariadb/hosted/verification.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

namespace postern::mariadb {
namespace {

/// The worker's, for the memory it keeps.
SessionReader &session_reader() {
  static thread_local SessionReader reads;
  return reads;
}

bool locks_rows(const Plan &plan) {
  return static_cast<const TablePlan &>(plan).rows().lock != FormLock::none;
}

/// In a cluster the thread has the session while one lives; elsewhere nobody else asks for it.
class SessionInTurn {
 public:
  SessionInTurn(THD *thd, st_my_thread_var *mysys) {
    if (!is_client_of_cluster(thd)) return;
    attachment_.emplace(thd, mysys);
    held_.emplace(thd);
  }
  bool is_clustered() const { return held_.has_value(); }
  bool was_rolled_back() const { return held_ && held_->was_rolled_back(); }

 private:
  std::optional<Attachment> attachment_;
  std::optional<HeldForCluster> held_;  // given back first
};

}  // namespace

uint8_t HostedSession::command_in(Bytes packet) {
  if (packet.size() <= header_bytes || packet[3] != 0) return COM_SLEEP;
  return static_cast<uint8_t>(packet[header_bytes]);
}

bool HostedSession::run_in_turn(const Statement &statement, KeptPlans &plans, Counters &counters) {
  THD *const thd = thd_;
  if (thd == nullptr || statement.output == nullptr || statement.packet.empty()) return false;
  const uint8_t command = command_in(statement.packet);
  // The commands that a plan is for, whatever else of it is known already.
  const bool asks = command == COM_QUERY || command == COM_STMT_EXECUTE;
  if (is_client_of_cluster(thd) && is_being_rolled_back(thd)) return false;
  if (statement.plan == nullptr || (!asks && command != COM_STMT_PREPARE)) return keep_house(statement);
  if (asks && statement.plan->writes()) return write_by_itself(statement, counters);
  // Otherwise the plan is only learning from the server's answer.
  if (asks && statement.values.size() != statement.plan->values()) return false;
  // Nothing may be looked at in a resting session of a cluster, and the server reports the transaction that it lost.
  const SessionInTurn in_turn(thd, mysys_);
  std::optional<NotNow> why = session_allows(thd);
  if (in_turn.was_rolled_back() || (!why && asks && in_turn.is_clustered() && locks_rows(*statement.plan)))
    why = NotNow::galera;
  if (!why && command == COM_STMT_EXECUTE) why = is_up_to_date(statement);
  if (!why && asks && is_to_be_verified()) {
    // Locking reads see the newest rows, which may change between the two answers.
    const auto &plan = *static_cast<const AnsweringPlan *>(statement.plan);
    to_be_verified_ = plan.rows().lock == FormLock::none;
    if (to_be_verified_ && plan.needs_plans()) answer_first(statement, plans);
    why = NotNow::verified;
  }
  if (!why) {
    const Attachment attachment(thd, mysys_);
    const STATUS_VAR &counts = thd->status_var;
    const uint64_t sent = counts.rows_sent;
    const uint64_t read = counts.rows_read;
    thd->net.reading_or_writing = 0;
    note_types(statement);
    why = asks ? answer(statement, plans) : promise(statement);
    thd->net.reading_or_writing = 1;
    counters.add(Counter::rows_sent, counts.rows_sent - sent);
    counters.add(Counter::rows_examined, counts.rows_read - read);
  }
  if (!why) {
    if (command == COM_STMT_EXECUTE) learnt_.statement_id = 0;  // the server has not run it
    return true;
  }
  count(*why);
  static_cast<const TablePlan *>(statement.plan)->note_left(*why);
  return false;
}

/// The answer that is compared with the server's, where only this thread can make it.
void HostedSession::answer_first(const Statement &statement, KeptPlans &plans) {
  const Attachment attachment(thd_, mysys_);
  const auto &plan = *static_cast<const AnsweringPlan *>(statement.plan);
  std::optional<ClientMetadata> columns = client_metadata(statement.packet);
  thd_->net.reading_or_writing = 0;
  first_answer_ = std::make_unique<Output>();
  const ReadTools tools{session_reader(), &plans};
  if (!answer_uncounted(thd_, plan, tools, statement, columns ? &*columns : nullptr, *first_answer_))
    first_answer_.reset();
  thd_->net.reading_or_writing = 1;
}

std::optional<NotNow> HostedSession::answer(const Statement &statement, KeptPlans &plans) {
  const auto &plan = *static_cast<const AnsweringPlan *>(statement.plan);
  const ReadTools tools{session_reader(), &plans};
  std::optional<ClientMetadata> columns = client_metadata(statement.packet);
  if (!columns) return plan.answer(thd_, tools, statement, *statement.output, nullptr);
  DeferredStatement *const deferred = deferred_.find(deferred_.meant(thd_, statement_id(statement.packet)));
  // Only the server changes its own note for a statement of its own.
  if (deferred == nullptr && !columns->holds(thd_)) return NotNow::not_learnt;
  return plan.answer(thd_, tools, statement, *statement.output, deferred != nullptr ? &deferred->columns : &*columns);
}

/// The server serves the command, as on a thread of the pool, but that its answer leaves with the worker's turn.
bool HostedSession::keep_house(const Statement &statement) {
  THD *const thd = thd_;
  std::optional<Attachment> attachment;
  if (is_client_of_cluster(thd)) attachment.emplace(thd, mysys_);
  if (!is_housekeeping(thd, statement.packet) || (!deferred_.empty() && !can_be_served_without(statement.packet))) {
    if (attachment) const HeldForCluster given_back(thd);
    return false;
  }
  if (!attachment) attachment.emplace(thd, mysys_);
  {
    const Conversation conversation(thd->net.vio, statement.packet, *statement.output);
    thd->net.reading_or_writing = 0;
    is_over_ = do_command(thd, true) != DISPATCH_COMMAND_SUCCESS;
    thd->net.reading_or_writing = 1;
  }
  if (is_over_) return true;
  const HeldForCluster held(thd);
  note_served(statement.packet);
  note_context();
  learnt_ = {};
  return true;
}

}  // namespace postern::mariadb
