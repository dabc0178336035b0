#include "door/statements_here.h"

#include "contract/server_session.h"
#include "door/lanes/crew_limits.h"
#include "door/lanes/serve_statement.h"

namespace postern::door {

bool StatementsHere::takes(const SlowJob &job, bool alone, int64_t now_ms) {
  const Connection &connection = *job.connection;
  if (connection.is_dead() || is_login(job)) return false;
  if (connection.output.pending_bytes() != 0) return false;  // its client may take its time
  if (waiting_.size() >= limits::statements_waiting_max || !watch_.ready()) return false;
  if (preempted_.load(std::memory_order_relaxed) != 0)
    lasting_kinds_.note_preempted(preempted_.exchange(0, std::memory_order_relaxed));
  const Prospect &prospect = job.prospect;
  if (prospect.endless || !lasting_kinds_.may_be_short(prospect.kind, now_ms)) return false;
  // No commit is waited for on a thread that has other clients.
  return !prospect.may_commit || alone || !engine_.commits_may_wait();
}

}  // namespace postern::door
