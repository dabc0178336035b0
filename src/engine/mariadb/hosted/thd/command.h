// command.h: where things are in the first packet of a client's command, header included. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

inline constexpr size_t header_bytes = 4;
/// In place of the number of a statement: the one that was prepared last.
inline constexpr uint32_t last_prepared = 0xffffffff;

/// COM_SLEEP for none.
inline uint8_t command_of(Bytes packet) {
  return packet.size() > header_bytes ? static_cast<uint8_t>(packet[header_bytes]) : uint8_t{COM_SLEEP};
}

}  // namespace postern::mariadb
