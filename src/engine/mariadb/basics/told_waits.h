// told_waits.h: ToldWaits, which passes a thread's waits in the server to a listener.
//
// The server notifies the scheduler of a waiting THD, on its thread, which may hold any of the server's locks then.
#pragma once

#include "contract/server_session.h"

namespace postern::mariadb {

/// While one lives, `listener` is called for the calling thread's waits, in place of an earlier listener.
class ToldWaits {
 public:
  explicit ToldWaits(WaitListener *listener);
  ~ToldWaits();
  ToldWaits(const ToldWaits &) = delete;
  ToldWaits &operator=(const ToldWaits &) = delete;

  /// Sets the listener for the calling thread's waits while no ToldWaits lives; nullptr: none.
  static void tell(WaitListener *listener);
  /// The calling thread begins to wait.
  static void begin() noexcept;

 private:
  WaitListener *const before_;
};

}  // namespace postern::mariadb
