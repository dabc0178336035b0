// logins.h: Logins, which decides when logins of a door are tried, and overwrites their passwords.
//
// One per door, used by the threads of its slow lane. Thread-safe; only the thread that runs a job passes it.
//
//   switch (logins.admit(job, name, waiting, now_ms)) {now: run the op, then logins.note(job, op, now_ms) ...}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "door/lanes/slow_job.h"
#include "door/lanes/throttle.h"

namespace postern::door {

class Logins {
 public:
  enum class Admission : uint8_t {
    now,      ///< may be tried
    later,    ///< not before SlowJob::due_ms
    refused,  ///< not tried, because too many have failed; the client has no account, and its password is overwritten
  };

  /// Whether the job's next op, a login, may be tried. `waiting`: the number of waiting logins of this door; `thread`:
  /// for the log.
  Admission admit(SlowJob &job, const std::string &thread, size_t waiting, int64_t now_ms);
  /// Counts a login that was tried, and overwrites its password. Called while it is still the job's next op.
  void note(SlowJob &job, int64_t now_ms);

 private:
  static void wipe_password(SlowJob &job);

  Throttle throttle_;
};

}  // namespace postern::door
