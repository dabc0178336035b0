// information.h: what INFO tells of the door.
#pragma once

#include <span>
#include <string>

#include "redis/protocol.h"

namespace postern::redis {

/// The sections asked for, in Redis's order; all that are told by default if none is named. An unknown one tells
/// nothing.
[[nodiscard]] std::string information(const Redis &protocol, std::span<const Bytes> sections);

}  // namespace postern::redis
