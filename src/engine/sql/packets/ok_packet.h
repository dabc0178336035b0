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

  /// Parses a whole answer, including the header. nullopt: it does not begin with an OK packet, or is incomplete.
  static std::optional<OkPacket> of(Bytes answer);
};

}  // namespace postern::sql
