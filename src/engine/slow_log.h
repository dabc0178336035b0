// slow_log.h: where slow requests are logged.
#pragma once

#include "contract/slow_request.h"

namespace postern::engine {

/// Writes to the server's slow log, in its format, where that is switched on and goes to a file. On a thread of a door.
void write_slow_log(const SlowRequest &request);

}  // namespace postern::engine
