// command.h: parses the first packet of a client's command, header included. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

inline constexpr size_t header_bytes = 4;
/// In place of a statement's id: the one prepared last.
inline constexpr uint32_t last_prepared = 0xffffffff;

/// The command's code; COM_SLEEP: none.
inline uint8_t command_of(Bytes packet) {
  return packet.size() > header_bytes ? static_cast<uint8_t>(packet[header_bytes]) : uint8_t{COM_SLEEP};
}

}  // namespace postern::mariadb
