// slow_log.h: SlowLog, which logs requests of one thread that took longer than the setting.
//
// A worker and a lane thread have one each, and that thread alone calls it.
#pragma once

#include <cstdint>
#include <span>

#include "base/counters.h"
#include "contract/op.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"

namespace postern::door {

class SlowLog {
 public:
  /// Both outlive it; the counters are the thread's.
  SlowLog(const Options &options, Counters &counters) : options_(options), counters_(counters) {}

  bool on() const { return options_.slow_request_us != 0; }
  /// `ops`, neighbouring ops of the connection, were answered together; their first byte came at `began_us`. Counts
  /// them if that is too long ago, and logs them unless many others were logged in this second.
  void note(const Connection &connection, std::span<const Op> ops, int64_t began_us) noexcept;

 private:
  void tell(const Connection &connection, std::span<const Op> ops, uint64_t took_us) const;

  const Options &options_;
  Counters &counters_;
  int64_t second_ = 0;
  uint32_t told_ = 0;     // in that second
  uint64_t unheard_ = 0;  // since the last line
};

}  // namespace postern::door
