#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/commit_in_turn.h"

#include "engine/mariadb/basics/commit_waits.h"
#include "engine/mariadb/hosted/housekeeping.h"

namespace postern::mariadb {

bool CommitInTurn::may_be_made(LockAhead &lock) {
  const bool has_cached_answers = query_cache.query_cache_size != 0 && !query_cache.is_disabled();  // to be thrown away
  if (thd_->variables.completion_type != 0 || has_cached_answers || !changes_.are_small(thd_)) return false;
  const bool waits = is_of_innodb_alone(thd_) ? commits_of_innodb_may_wait() : commits_may_wait();
  if (waits && !may_be_unflushed()) return false;
  if (!lock.take_of_commit()) return false;
  // The server cannot become read-only while the lock is held: from here on it has no reason to refuse.
  unflushed_ = waits && !thd_->is_read_only_ctx();
  return unflushed_ || !waits;
}

/// Nothing may fail between the two parts: no other storage engine takes part, and no timeout expires.
bool CommitInTurn::may_be_unflushed() const {
  return answer_may_wait_ && commits_wait_for_flush_alone() && is_of_innodb_alone(thd_) &&
         thd_->variables.max_statement_time == 0 && !thd_->transaction_rollback_request;
}

void CommitInTurn::begin() {
  if (unflushed_) commit_unflushed(thd_);
}

}  // namespace postern::mariadb
