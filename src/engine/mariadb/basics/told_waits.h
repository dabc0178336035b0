// told_waits.h: ToldWaits, who hears that a thread begins to wait in the server.
//
// The server tells the scheduler of the THD that waits, on its thread, which may hold any of the server's locks then.
#pragma once

#include "contract/server_session.h"

namespace postern::mariadb {

/// While one lives, `listener` hears of the calling thread's waits, and whoever heard of them before does not.
class ToldWaits {
 public:
  explicit ToldWaits(WaitListener *listener);
  ~ToldWaits();
  ToldWaits(const ToldWaits &) = delete;
  ToldWaits &operator=(const ToldWaits &) = delete;

  /// Who hears of the calling thread's waits from now on, where none of these lives; nullptr: nobody.
  static void tell(WaitListener *listener);
  /// The calling thread begins to wait.
  static void begin() noexcept;

 private:
  WaitListener *const before_;
};

}  // namespace postern::mariadb
