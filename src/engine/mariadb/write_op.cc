#include "engine/mariadb/server.h"

#include "engine/mariadb/write_op.h"

#include <algorithm>

#include "base/limits.h"
#include "engine/mariadb/failures.h"

namespace postern::mariadb {

void WriteOp::begin_batch(THD *its_thd, bool is_alone, int64_t row_wait_ms, int lone_row_wait_ms) {
  thd = its_thd;
  alone = is_alone;
  row_wait_ms_ = row_wait_ms;
  lone_row_wait_ms_ = lone_row_wait_ms;
  began_us_ = microsecond_interval_timer();
  lost_ = {};
  row_wait_.allow(alone ? lone_row_wait_ms : limits::row_wait_fast_ms);
}

void WriteOp::changed_row_alone() {
  if (!table->file().has_transactions_and_rollback()) thd->transaction->stmt.modified_non_trans_table = true;
  // Beginning anew costs what has been done so far, so that waiting as long costs no more. Longer, and a row that
  // somebody keeps locked would hold up every other write that is run alone.
  const auto spent_ms = static_cast<int64_t>((microsecond_interval_timer() - began_us_) / 1000);
  row_wait_.allow(std::min(row_wait_ms_, std::max<int64_t>(lone_row_wait_ms_, spent_ms)));
}

Step WriteOp::fail(Failure failure, std::string its_message) {
  outcome.failure = failure;
  message = std::move(its_message);
  return Step::failed;
}

Step WriteOp::fail_as_told(Failure failure) {
  if (thd->killed) return fail_with(HA_ERR_ABORTED_BY_USER);
  if (thd->transaction_rollback_request) return fail_with(HA_ERR_LOCK_DEADLOCK);
  return fail(failure, take_server_message(thd));
}

Step WriteOp::fail_with(int code) {
  // A row that the binary log has no room for is changed already. Among others it takes all of them along, to be run
  // again; alone it is undone.
  const bool unlogged = code == HA_ERR_RBR_LOGGING_FAILED && !alone;
  const bool gone = thd->transaction_rollback_request || unlogged;
  if (!gone && (code == HA_ERR_ABORTED_BY_USER || code == HA_ERR_LOCK_WAIT_TIMEOUT)) {
    if (row_wait_.take_expired() || code == HA_ERR_LOCK_WAIT_TIMEOUT) {
      if (!cannot_be_undone(thd)) return leave(Progress::locked);
      lost_ = {.failure = Failure::row_locked, .repeatable = false};
      return Step::failed;
    }
  }
  Failure failure = engine_failure(thd, table->table, code, message);
  if (gone || (failure == Failure::interrupted && thd->killed >= KILL_CONNECTION)) {
    lost_ = {.failure = failure, .engine_code = code, .message = message, .repeatable = !cannot_be_undone(thd)};
    return Step::failed;
  }
  if (code == HA_ERR_FOUND_DUPP_KEY || code == HA_ERR_FOUND_DUPP_UNIQUE) failure = Failure::duplicate_key;
  outcome.failure = failure;
  outcome.engine_code = code;
  return Step::failed;
}

Step WriteOp::fail_interrupted() {
  if (!stop_.load(std::memory_order_relaxed)) return fail_with(HA_ERR_ABORTED_BY_USER);
  lost_ = {.failure = Failure::stopping};
  return Step::failed;
}

Step WriteOp::leave(Progress progress) {
  op->progress = progress;
  return Step::left;
}

}  // namespace postern::mariadb
