// status.h: from counters to SHOW GLOBAL STATUS.
#pragma once

#include <cstdint>

#include "base/counters.h"

struct st_mysql_show_var;

namespace postern::plugin {

/// What SHOW GLOBAL STATUS shows: sums of all doors of a plugin.
struct Status {
  Counters counters;
  uint64_t connections = 0;
  uint64_t connections_peak = 0;
  uint64_t buffer_bytes = 0;
};

/// Sums the status of the running doors. Any thread.
using StatusSource = void (*)(Status &status);
void set_status_source(StatusSource source);

/// For the plugin's declaration.
extern st_mysql_show_var status_variables[];

}  // namespace postern::plugin
