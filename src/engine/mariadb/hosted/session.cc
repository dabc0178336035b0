#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/mariadb/basics/account.h"
#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/interruption.h"
#include "engine/mariadb/basics/thd_deletion.h"
#include "engine/mariadb/hosted/kept_thds.h"
#include "engine/mariadb/hosted/learn.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/verification.h"
#include "engine/mariadb/basics/told_waits.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/serve_command.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

namespace postern::mariadb {
namespace {

/// Like the server's thread pool for a session that was idle too long: writes a line to the log, and nothing to the
/// client.
void tell_log_of_timeout(THD *thd) {
  thd->get_stmt_da()->reset_diagnostics_area();
  thd->reset_killed();
  my_error(ER_NET_READ_INTERRUPTED, MYF(0));
  thd->net.last_errno = ER_NET_READ_INTERRUPTED;
  thd->net.error = 2;
}

}  // namespace

bool HostedSession::serve(const Statement &statement) {
  if (!logged_in_) return go_on_logging_in(statement);
  THD *const thd = thd_;
  Attachment attachment(thd, mysys_);
  const ToldWaits waits(statement.listener);
  if (thd->killed >= KILL_CONNECTION) {
    if (thd->killed == KILL_WAIT_TIMEOUT) tell_log_of_timeout(thd);
    return false;
  }
  if (change_.awaits_reply()) return serve_change(statement);
  const Bytes packet = statement.packet;
  if (command_of(packet) == COM_CHANGE_USER) change_.expect(thd, packet);
  if (!prepared_.keep(thd, packet, dialect_.number(), learnt_)) {
    const HeldForCluster held(thd);  // it gives back the attachment's hold
    return true;
  }
  const StatementPlan *const plan = plan_of(statement);
  const uint64_t version = plan != nullptr ? plan->version() : 0;
  std::optional<ClientMetadata> columns = PreparedStatements::client_metadata(thd, packet);
  const Asked asked{.thd = thd,
                    .mysys = mysys_,
                    .statement = statement,
                    .prepared = command_of(packet) == COM_STMT_EXECUTE,
                    .columns = columns ? &*columns : nullptr};
  std::optional<Verification> verification;
  if (std::exchange(to_be_verified_, false) && plan != nullptr) verification.emplace(asked, std::move(first_answer_));
  std::string answer;
  Conversation conversation(thd->net.vio, packet, statement.rest, wants_answer(statement) ? &answer : nullptr,
                            verification ? Verification::answer_bytes_max : Conversation::answer_bytes_usual);
  const uint64_t rows_read = thd->status_var.rows_read;
  const uint64_t changed = TransactionChanges::counted(thd);
  do {
    thd->net.reading_or_writing = 0;
    if (mysql_audit_release_required(thd)) mysql_audit_release(thd);
    if (serve_command(thd, conversation) != DISPATCH_COMMAND_SUCCESS || !thd_is_connection_alive(thd)) return false;
    let_rest(thd);
  } while (thd->net.compress && thd->net.remain_in_buf != 0);
  const HeldForCluster held(thd);
  if (verification) verification->compare(answer);
  prepared_.note_served(thd, packet);
  changes_.note_served(thd, changed);
  dialect_.note(thd);
  if (held.was_rolled_back()) {
    forget_learnt();
    return true;
  }
  learnt_ = learn(thd, prepared_, statement, answer, version, thd->status_var.rows_read - rows_read);
  learnt_.failed = thd->is_error();
  if (command_of(packet) == COM_CHANGE_USER && !learnt_.failed) change_.note_answer(packet, answer);
  return true;
}

/// The server gets a COM_CHANGE_USER that a worker has begun, with its client's reply. The thread is attached.
bool HostedSession::serve_change(const Statement &statement) {
  THD *const thd = thd_;
  const Bytes packets = change_.with(statement.packet);
  login_ = {.greeting = change_.question(), .net = &thd->net, .may_wait = true};
  bool goes_on = false;
  {
    const Conversation conversation(thd->net.vio, packets, statement.rest, nullptr, login_);
    thd->net.reading_or_writing = 0;
    if (mysql_audit_release_required(thd)) mysql_audit_release(thd);
    // The rest of a reply that the server refuses is the next command for it.
    do {
      goes_on = do_command(thd, true) == DISPATCH_COMMAND_SUCCESS && thd_is_connection_alive(thd);
    } while (goes_on && conversation.has_packet());
    if (goes_on) let_rest(thd);
  }
  prepared_.note_served(thd, packets);
  change_.end(login_.greets_otherwise);
  if (!goes_on) return false;
  dialect_.note(thd);
  learnt_ = {};
  learnt_.failed = thd->is_error();
  return true;
}

/// The reply to a COM_CHANGE_USER will not come: lets the server find the end of the stream when it reads.
void HostedSession::give_change_up() {
  THD *const thd = thd_;
  login_ = {.greeting = change_.question(), .net = &thd->net, .timed_out = thd->killed == KILL_WAIT_TIMEOUT};
  thd->reset_killed();
  const Conversation conversation(thd->net.vio, change_.with({}), nullptr, nullptr, login_);
  do_command(thd, true);
}

void HostedSession::end(bool peer_ended) {
  THD *const thd = thd_;
  if (connect_ != nullptr) std::exchange(connect_, nullptr)->close_and_delete(0);  // nobody has greeted it
  if (thd == nullptr) return;
  Attachment attachment(thd, mysys_);
  thd->net.reading_or_writing = 0;
  if (!logged_in_) {
    give_login_up();
  } else if (is_over_) {
    // It has said all.
  } else if (change_.awaits_reply() && (thd->killed == NOT_KILLED || thd->killed == KILL_WAIT_TIMEOUT)) {
    give_change_up();
  } else if (thd->killed == KILL_WAIT_TIMEOUT) {
    tell_log_of_timeout(thd);
  } else if (peer_ended && thd_is_connection_alive(thd)) {
    // The server finds the end of the stream, counts it and logs it.
    const Conversation conversation(thd->net.vio, {}, nullptr, nullptr);
    do_command(thd, true);
  }
  close();
}

/// Ends the session like a connection's thread (do_handle_one_connection).
void HostedSession::close() {
  THD *const thd = thd_;
  thd->net.reading_or_writing = 0;
  prepared_.clear();
  if (logged_in_) end_connection(thd);
  {
    const std::lock_guard guard(mutex_);
    thd_ = nullptr;
  }
  close_connection(thd, 0);
  if (thd->userstat_running) update_global_user_stats(thd, logged_in_, time(nullptr));
  unlink_thd(thd);
  PSI_CALL_delete_current_thread();
  if (may_be_kept_ && keep_thd({.thd = thd, .mysys = mysys_})) return;
  delete_thd(thd);
  my_thread_end();
}

Prospect HostedSession::prospect(const Statement &statement) const {
  if (thd_ == nullptr) return {};
  return change_.awaits_reply() ? Prospect{.kind = COM_CHANGE_USER, .client_sends = true}
                                : prospect_of(thd_, statement);
}

bool HostedSession::in_transaction() const {
  return thd_ != nullptr && thd_->in_multi_stmt_transaction_mode();
}

bool HostedSession::compressed() const {
  return thd_ != nullptr && thd_->net.compress;
}

uint64_t HostedSession::number() const {
  return thd_ != nullptr ? thd_->thread_id : 0;
}

std::string HostedSession::account() const {
  return thd_ != nullptr ? account_name(*thd_->security_ctx) : std::string();
}

bool HostedSession::has_account(Bytes name) const {
  return thd_ != nullptr ? is_account_name(*thd_->security_ctx, name) : name.empty();
}

int HostedSession::fd() const {
  return thd_ != nullptr ? mysql_socket_getfd(thd_->net.vio->mysql_socket) : -1;
}

void *HostedSession::tls() const {
  return thd_ != nullptr && thd_->net.vio->type == VIO_TYPE_SSL ? thd_->net.vio->ssl_arg : nullptr;
}

int64_t HostedSession::idle_limit_ms() const {
  if (thd_ == nullptr) return 0;
  const ulong seconds = !logged_in_              ? connect_timeout
                        : change_.awaits_reply() ? thd_->variables.net_read_timeout
                                                 : thd_->get_net_wait_timeout();
  return int64_t{static_cast<int64_t>(seconds)} * 1000;
}

void HostedSession::time_out() {
  if (!logged_in_) {
    login_.timed_out = true;
    return;
  }
  mysql_mutex_lock(&thd_->LOCK_thd_kill);
  thd_->set_killed_no_mutex(KILL_WAIT_TIMEOUT);
  post_kill_notification(thd_);
  mysql_mutex_unlock(&thd_->LOCK_thd_kill);
}

void HostedSession::interrupt() {
  interrupted_.store(true, std::memory_order_release);
  const std::lock_guard guard(mutex_);
  if (thd_ != nullptr) kill_session(thd_);
}

}  // namespace postern::mariadb
