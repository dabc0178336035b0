#include "engine/mariadb/basics/server.h"

#include <utility>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/cluster_hooks.h"
#include "engine/mariadb/basics/failures.h"

namespace postern::mariadb {
namespace {

bool is_committed(THD *thd) {
  return thd->wsrep_trx().state() == wsrep::transaction::s_committed;
}

/// SQL's error for it.
Settlement lost_to_others(THD *thd) {
  my_error(ER_LOCK_DEADLOCK, MYF(0));
  ServerError error = take_server_error(thd);
  return {.failure = Failure::engine_error,
          .engine_code = HA_ERR_LOCK_DEADLOCK,
          .message = std::move(error.message),
          .server_error = error.number,
          .repeatable = !cannot_be_undone(thd)};
}

/// The node was cut off while others received its writes: whether they have committed them is unknown.
bool nobody_knows(THD *thd) {
  if (thd->wsrep_cs().current_error() != wsrep::e_error_during_commit) return false;
  switch (thd->wsrep_cs().current_error_status()) {
    case wsrep::provider::error_connection_failed:
    case wsrep::provider::error_provider_failed:
    case wsrep::provider::error_fatal:
    case wsrep::provider::error_unknown: return true;
    default: return false;
  }
}

/// Makes the thread a client of the cluster, in the middle of a command.
void enter(THD *thd) {
  thd->wsrep_client_thread = true;
  // Not wsrep_open(): a transaction in fragments cannot be run again by parts.
  thd->wsrep_cs().open(wsrep::client_id(thd->thread_id));
  wsrep_before_command(thd);
}

void leave(THD *thd) {
  wsrep_after_command_ignore_result(thd);
  wsrep_close(thd);
  wsrep_cleanup(thd);
  thd->wsrep_client_thread = false;
}

bool waited_for_others(THD *thd) {
  enter(thd);
  const bool failed = wsrep_sync_wait(thd, WSREP_SYNC_WAIT_BEFORE_READ);
  leave(thd);
  if (failed) thd->clear_error(true);
  return !failed;
}

}  // namespace

bool cluster_refuses_reads(THD *thd) {
  if (!WSREP(thd)) return false;
  if (!thd->variables.wsrep_dirty_reads && (!wsrep_ready_get() || wsrep_reject_queries != WSREP_REJECT_NONE))
    return true;
  return WSREP_PROVIDER_EXISTS_ && (thd->variables.wsrep_sync_wait & WSREP_SYNC_WAIT_BEFORE_READ) &&
         !waited_for_others(thd);
}

bool cluster_refuses_writes(THD *thd) {
  return WSREP(thd) && WSREP_PROVIDER_EXISTS_ && thd->wsrep_cs().state() == wsrep::client_state::s_none;
}

bool is_client_of_cluster(THD *thd) {
  return thd->wsrep_cs().state() != wsrep::client_state::s_none;
}

bool is_being_rolled_back(THD *thd) {
  mysql_mutex_lock(&thd->LOCK_thd_data);
  const bool active = is_client_of_cluster(thd) && thd->wsrep_cs().is_rollbacker_active();
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  return active;
}

bool cluster_keeps_from_reading(THD *thd) {
  if (!WSREP(thd)) return false;
  if (!thd->variables.wsrep_dirty_reads && (!wsrep_ready_get() || wsrep_reject_queries != WSREP_REJECT_NONE))
    return true;
  return thd->variables.wsrep_sync_wait != 0;
}

void wait_for_rollback(THD *thd) {
  wsrep_wait_rollback_complete_and_acquire_ownership(thd);
}

// For the cluster this is a command without an answer: an error is kept for the next command.
HeldForCluster::HeldForCluster(THD *thd) : thd_(thd) {
  wsrep_before_command(thd, true);
}

HeldForCluster::~HeldForCluster() {
  // A command that was dispatched meanwhile has had its result.
  if (thd_->wsrep_cs().state() != wsrep::client_state::s_result) wsrep_after_command_before_result(thd_);
  wsrep_after_command_after_result(thd_);
}

bool HeldForCluster::was_rolled_back() const {
  return thd_->wsrep_trx().active() && thd_->wsrep_trx().state() == wsrep::transaction::s_aborted;
}

void Certification::begin(THD *thd) {
  if (!WSREP(thd) || !WSREP_PROVIDER_EXISTS_ || !wsrep_ready_get()) return;
  thd_ = thd;
  enter(thd);
}

void Certification::begin_statement() {
  if (thd_ == nullptr) return;
  wsrep_before_statement(thd_);
  wsrep_start_trx_if_not_started(thd_);
}

void Certification::end_statement(Settlement &settlement) {
  if (thd_ == nullptr) return;
  // The transaction that was certified first has interrupted us.
  if (interrupted() && thd_->killed < KILL_CONNECTION) thd_->reset_killed();
  const bool was_committed = is_committed(thd_);
  const bool lost = wsrep_after_statement(thd_) != 0;
  if (!was_committed && is_committed(thd_)) {
    settlement = {};
  } else if (lost) {
    settlement = lost_to_others(thd_);
  } else if (!settlement.lasted() && nobody_knows(thd_)) {
    settlement = {.failure = Failure::outcome_unknown, .repeatable = false};
  }
  if (!settlement.lasted() && thd_->killed < KILL_CONNECTION) thd_->reset_killed();
  thd_->get_stmt_da()->reset_diagnostics_area();
}

bool Certification::interrupted() const {
  return thd_ != nullptr && thd_->wsrep_trx().bf_aborted();
}

void Certification::end() {
  THD *const thd = std::exchange(thd_, nullptr);
  if (thd != nullptr) leave(thd);
}

}  // namespace postern::mariadb
