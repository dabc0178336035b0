// logins.h: Logins, which logins of a door are tried, and when, and that no password is kept.
//
// One per door, used by the threads of its slow lane. Thread-safe; a job is the thread's that runs it.
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
    refused,  ///< is not tried: too many have failed. The client is nobody, and its password is overwritten
  };

  /// Whether the job's next op, a login, may be tried. `waiting`: how many logins of this door wait; `thread`: for the
  /// log.
  Admission admit(SlowJob &job, const std::string &thread, size_t waiting, int64_t now_ms);
  /// The login was tried: counts whether it succeeded, and overwrites its password. To be called while it is still the
  /// job's next op.
  void note(SlowJob &job, int64_t now_ms);

 private:
  static void wipe_password(SlowJob &job);

  Throttle throttle_;
};

}  // namespace postern::door
