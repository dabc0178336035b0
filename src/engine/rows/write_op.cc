#include "engine/server/server.h"

#include "engine/rows/write_op.h"

#include <algorithm>

#include "base/limits.h"
#include "engine/server/differences.h"
#include "engine/server/failures.h"

namespace postern::rows {

void WriteOp::begin_batch(THD *its_thd, bool is_alone, int64_t row_wait_ms, int alone_row_wait_ms) {
  thd = its_thd;
  alone = is_alone;
  step = false;
  row_wait_ms_ = row_wait_ms;
  alone_row_wait_ms_ = alone_row_wait_ms;
  began_us_ = interval_us();
  lost_ = {};
  row_wait_.allow(alone ? alone_row_wait_ms : limits::row_wait_fast_ms);
}

void WriteOp::changed_row_alone() {
  if (!can_roll_back(table->file())) note_change_for_good(thd);
  // Beginning anew costs as much as the work done so far, so waiting that long costs no more. With longer waits a row
  // that stays locked would hold up all other writes that run alone.
  const auto spent_ms = static_cast<int64_t>((interval_us() - began_us_) / 1000);
  row_wait_.allow(std::min(row_wait_ms_, std::max<int64_t>(alone_row_wait_ms_, spent_ms)));
}

Step WriteOp::fail(Failure failure, ServerError its_error) {
  outcome.failure = failure;
  error = std::move(its_error);
  return Step::failed;
}

Step WriteOp::fail_as_told(Failure failure) {
  if (thd->killed) return fail_with(code_of_interruption);
  if (thd->transaction_rollback_request) return fail_with(HA_ERR_LOCK_DEADLOCK);
  return fail(failure, take_server_error(thd));
}

Step WriteOp::fail_with(int code) {
  const bool gone = thd->transaction_rollback_request;
  if (!gone && waited_too_long(code)) {
    row_wait_.take_expired();
    if (!cannot_be_undone(thd)) return leave(Progress::locked);
    lost_ = {.failure = Failure::row_locked, .repeatable = false};
    return Step::failed;
  }
  Failure failure = engine_failure(thd, table->table, code, error);
  if (gone || (failure == Failure::interrupted && connection_is_killed(*thd))) return lose(failure, code);
  if (code == HA_ERR_FOUND_DUPP_KEY || code == HA_ERR_FOUND_DUPP_UNIQUE) failure = Failure::duplicate_key;
  outcome.failure = failure;
  outcome.engine_code = code;
  return Step::failed;
}

Step WriteOp::fail_to_change(int code) {
  if (row_wait_.last() == RowWait::For::table && table->table->found_next_number_field != nullptr)
    table->target->note_autoinc_held(interval_us());
  if (alone || step || thd->transaction_rollback_request || left_the_row(code)) return fail_with(code);
  if (waited_too_long(code)) {
    row_wait_.take_expired();
    return lose(Failure::row_locked, code);
  }
  return lose(engine_failure(thd, table->table, code, error), code);
}

Step WriteOp::lose(Failure failure, int code) {
  lost_ = {.failure = failure,
           .engine_code = code,
           .message = error.message,
           .server_error = error.number,
           .repeatable = !cannot_be_undone(thd)};
  return Step::failed;
}

/// Whether the code means a lock wait that timed out, by our limit or the server's. InnoDB has no code of its own for
/// the AUTO-INC lock that a generated id needs.
bool WriteOp::waited_too_long(int code) const {
  switch (code) {
    case HA_ERR_LOCK_WAIT_TIMEOUT: return true;
    case code_of_interruption:
    case HA_ERR_AUTOINC_READ_FAILED: return row_wait_.expired();
    default: return false;
  }
}

/// Whether a failed call to change one row of an InnoDB table has left everything as it was. The listed errors are
/// found before the row is touched, or InnoDB goes back to where the call began (row_mysql_handle_errors). Anything
/// else may come after the change: raising the AUTO_INCREMENT counter is the call's last step and waits for a lock of
/// its own.
bool WriteOp::left_the_row(int code) const {
  switch (code) {
    case HA_ERR_FOUND_DUPP_KEY:
    case HA_ERR_FOUND_DUPP_UNIQUE:
    case HA_ERR_FOREIGN_DUPLICATE_KEY:
    case HA_ERR_ROW_IS_REFERENCED:
    case HA_ERR_NO_REFERENCED_ROW:
    case code_of_too_large_row:
    case HA_ERR_NULL_IN_SPATIAL:
    case HA_ERR_NO_PARTITION_FOUND:
    case HA_ERR_AUTOINC_READ_FAILED:
    case HA_ERR_AUTOINC_ERANGE: return true;
    case HA_ERR_LOCK_WAIT_TIMEOUT:
    case code_of_interruption: return row_wait_.last() == RowWait::For::row;
    default: return false;
  }
}

Step WriteOp::fail_interrupted() {
  if (!stop_.load(std::memory_order_relaxed)) return fail_with(code_of_interruption);
  lost_ = {.failure = Failure::stopping};
  return Step::failed;
}

Step WriteOp::leave(Progress progress) {
  op->progress = progress;
  return Step::left;
}

}  // namespace postern::rows
