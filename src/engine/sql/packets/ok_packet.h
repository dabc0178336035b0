// ok_packet.h: OkPacket, the contents of an OK packet of the MySQL protocol.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace postern::sql {

struct OkPacket {
  uint64_t affected = 0;
  uint64_t insert_id = 0;
  uint16_t status = 0;
  uint16_t warnings = 0;

  /// Parses a whole answer, header and all. nullopt: it begins with no OK packet, or is cut short.
  static std::optional<OkPacket> of(Bytes answer);
};

}  // namespace postern::sql
