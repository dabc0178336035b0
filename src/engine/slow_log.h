// slow_log.h: where slow requests are logged.
#pragma once

#include "contract/slow_request.h"

namespace postern::engine {

/// Writes to the server's slow log, in its format, if it is enabled and written to a file. On a door's thread.
void write_slow_log(const SlowRequest &request);

}  // namespace postern::engine
