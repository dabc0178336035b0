// engine.h: the way into this folder: an Engine over the tables of the MariaDB server that loaded us.
//
// Free of server headers, so that the plugin can include it.
#pragma once

#include <memory>

#include "base/log.h"
#include "contract/executor.h"

namespace postern::mariadb {

/// Must outlive every executor it attaches and every slot it fills.
std::unique_ptr<Engine> make_engine();

/// Whether the server runs to install or upgrade itself (--bootstrap), when no door should open.
bool server_is_bootstrapping();

/// Writes to the server's error log; a log::Sink.
void write_error_log(log::Level level, const char *line);

}  // namespace postern::mariadb
