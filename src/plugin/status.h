// status.h: shows counters in SHOW GLOBAL STATUS.
#pragma once

#include "server_plugin.h"

#include <cstdint>

#include "base/counters.h"
#include "base/histogram.h"

namespace postern::plugin {

/// Sums of all doors of a plugin.
struct DoorStatus {
  Counters counters;
  Latencies latencies;
  uint64_t threads = 0;
  uint64_t connections = 0;
  uint64_t connections_peak = 0;
  uint64_t statements_in_place = 0;
  uint64_t loops_moved = 0;
  uint64_t buffer_bytes_max = 0;  ///< of all plugins together
};

/// The variables of one SHOW GLOBAL STATUS, without the plugin's prefix in their names. Each thread has one page, which
/// the server reads before it calls the next plugin.
class StatusPage {
 public:
  /// `name` lives as long as the library. Drops variables beyond the page's room.
  void add(const char *name, uint64_t value);
  /// ON or OFF.
  void add_switch(const char *name, bool on);
  /// The variables of every plugin.
  void add(const DoorStatus &status);
  void fill(StatusVariable &variable);

 private:
  uint32_t count_ = 0;
};

}  // namespace postern::plugin
