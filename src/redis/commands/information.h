// information.h: the text of INFO.
#pragma once

#include <span>
#include <string>

#include "redis/protocol.h"

namespace postern::redis {

/// The requested sections, in Redis's order; the default ones if none is named. An unknown one is empty.
[[nodiscard]] std::string information(const Redis &protocol, std::span<const Bytes> sections);

}  // namespace postern::redis
