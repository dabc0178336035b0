#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/session.h"

#include <memory>
#include <optional>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/housekeeping.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/serve_command.h"
#include "engine/mariadb/hosted/verification.h"

namespace postern::mariadb {
namespace {

/// COM_SLEEP, which no client sends, for a packet that is not the first one of a command.
uint8_t command_in(Bytes packet) {
  return packet.size() <= header_bytes || packet[3] != 0 ? uint8_t{COM_SLEEP} : command_of(packet);
}

/// In a cluster it reserves the session for the thread while one lives; elsewhere that is not needed.
class SessionInTurn {
 public:
  SessionInTurn(THD *thd, st_my_thread_var *mysys) {
    if (!is_client_of_cluster(thd)) return;
    attachment_.emplace(thd, mysys);
    held_.emplace(thd);
  }
  bool was_rolled_back() const { return held_ && held_->was_rolled_back(); }

 private:
  std::optional<Attachment> attachment_;
  std::optional<HeldForCluster> held_;  // given back first
};

}  // namespace

bool HostedSession::run_in_turn(const Statement &statement, const AnswerTools &tools) {
  if (is_over_) return true;  // since an earlier statement of this turn, which has no answer either
  THD *const thd = thd_;
  if (thd == nullptr || statement.output == nullptr || statement.packet.empty() || change_.awaits_reply()) return false;
  if (is_client_of_cluster(thd) && is_being_rolled_back(thd)) return false;
  const uint8_t command = command_in(statement.packet);
  if (command == COM_CHANGE_USER) {
    learnt_ = {};
    return change_.ask(thd, statement.packet, *statement.output);
  }
  // The commands that a plan can answer.
  const bool executes = command == COM_QUERY || command == COM_STMT_EXECUTE;
  const StatementPlan *const plan = plan_of(statement);
  if (plan == nullptr || (!executes && command != COM_STMT_PREPARE)) return keep_house(statement, tools);
  // Otherwise the plan is only learning from the server's answer.
  if (executes && statement.values.size() != plan->values()) {
    plan->note_unsuited();
    return false;
  }
  // The state of an idle session in a cluster must not be read before this; the server reports a lost transaction.
  const SessionInTurn in_turn(thd, mysys_);
  std::optional<NotNow> why = NotNow::galera;
  if (!in_turn.was_rolled_back()) why = may_answer(statement, tools);
  if (!why) {
    const STATUS_VAR &counts = thd->status_var;
    const uint64_t sent = counts.rows_sent;
    const uint64_t read = counts.rows_read;
    why = answer(statement, tools);
    tools.op->rows_sent = static_cast<uint32_t>(counts.rows_sent - sent);
    tools.op->rows_examined = static_cast<uint32_t>(counts.rows_read - read);
    tools.counters->add(Counter::rows_sent, tools.op->rows_sent);
    tools.counters->add(Counter::rows_examined, tools.op->rows_examined);
  }
  if (!why) return true;
  count(*why);
  plan->note_left(*why);
  return false;
}

void HostedSession::break_off() noexcept {
  is_over_ = true;
  learnt_ = {};
}

std::optional<NotNow> HostedSession::may_answer(const Statement &statement, const AnswerTools &tools) {
  const StatementPlan &plan = *plan_of(statement);
  if (const auto why = session_allows(thd_)) return why;
  if (plan.rests() && command_of(statement.packet) != COM_STMT_PREPARE) return NotNow::in_vain;
  if (const auto why = plan.may(thd_)) return why;
  const uint8_t command = command_of(statement.packet);
  if (command == COM_STMT_PREPARE) return std::nullopt;
  if (command == COM_STMT_EXECUTE)
    if (const auto why = prepared_.is_up_to_date(thd_, statement)) return why;
  if (!is_to_be_verified()) return std::nullopt;
  // Two answers that depend on the time are equal only if the session's time is fixed.
  to_be_verified_ = plan.can_be_compared() && (!plan.is_of_time() || thd_->user_time.val != 0);
  if (to_be_verified_ && plan.needs_plans()) answer_first(statement, tools);
  return NotNow::verified;
}

/// Makes the answer to compare with the server's, if only this thread can make it.
void HostedSession::answer_first(const Statement &statement, const AnswerTools &tools) {
  const AtWork at_work(thd_, mysys_);
  std::optional<ClientMetadata> columns = PreparedStatements::client_metadata(thd_, statement.packet);
  const Asked asked{.thd = thd_,
                    .mysys = mysys_,
                    .statement = statement,
                    .prepared = command_of(statement.packet) == COM_STMT_EXECUTE,
                    .columns = columns ? &*columns : nullptr};
  first_answer_ = std::make_unique<Output>();
  if (!answer_uncounted(asked, tools.plans, *first_answer_)) first_answer_.reset();
}

std::optional<NotNow> HostedSession::answer(const Statement &statement, const AnswerTools &tools) {
  THD *const thd = thd_;
  const AtWork at_work(thd, mysys_);
  if (command_of(statement.packet) == COM_STMT_PREPARE) {
    uint32_t id = 0;
    const std::optional<NotNow> why = prepared_.prepare(thd, statement, dialect_.number(), id);
    if (why) return why;
    learnt_ = {};
    learnt_.statement_id = id;
    return std::nullopt;
  }
  prepared_.note_types(thd, statement);
  Asked asked{.thd = thd,
              .mysys = mysys_,
              .statement = statement,
              .prepared = command_of(statement.packet) == COM_STMT_EXECUTE};
  const StatementPlan &plan = *plan_of(statement);
  std::optional<ClientMetadata> columns;
  if (plan.sends_rows()) columns = PreparedStatements::client_metadata(thd, statement.packet);
  if (columns) {
    asked.columns = prepared_.deferred_metadata(thd, statement.packet);
    // Only the server changes the note of one of its statements.
    if (asked.columns == nullptr && !columns->holds(thd)) return NotNow::not_learnt;
    if (asked.columns == nullptr) asked.columns = &*columns;
  }
  const std::optional<NotNow> why = plan.answer(asked, tools, *statement.output);
  if (why || tools.op->progress != Progress::waiting) plan.note_tried(why);
  if (!why && asked.prepared) learnt_.statement_id = 0;  // the server has not run it
  return why;
}

/// Lets the server serve the command, as on a thread of the pool, but its answer is sent with the worker's turn.
bool HostedSession::keep_house(const Statement &statement, const AnswerTools &tools) {
  THD *const thd = thd_;
  std::optional<Attachment> attachment;
  if (is_client_of_cluster(thd)) attachment.emplace(thd, mysys_);
  LockAhead lock(thd, mysys_);
  CommitInTurn commit(thd, changes_, tools.answer_may_wait);
  if (!is_housekeeping(thd, statement, *tools.recent_texts, commit, lock) ||
      !prepared_.can_be_served_without(thd, statement.packet)) {
    if (attachment) const HeldForCluster given_back(thd);
    return false;
  }
  if (!attachment) attachment.emplace(thd, mysys_);
  const Output::Mark answer = statement.output->mark();
  commit.begin();
  {
    Conversation conversation(thd->net.vio, statement.packet, *statement.output);
    thd->net.reading_or_writing = 0;
    is_over_ = serve_command(thd, conversation) != DISPATCH_COMMAND_SUCCESS;
    thd->net.reading_or_writing = 1;
  }
  if (commit.is_unflushed()) {
    tools.op->unflushed = true;
    // KILL has come in between. The client gets no answer, as after a crash, because a completed commit cannot fail.
    if (thd->is_error()) {
      statement.output->rewind(answer);
      is_over_ = true;
    }
  }
  if (is_over_) return true;
  const HeldForCluster held(thd);
  changes_.note_in_turn(thd);
  prepared_.note_served(thd, statement.packet);
  if (command_of(statement.packet) != COM_PING) dialect_.note(thd);
  forget_learnt();
  return true;
}

}  // namespace postern::mariadb
