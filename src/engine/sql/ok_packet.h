// ok_packet.h: OkPacket, what an OK packet of the MySQL protocol tells.
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

  /// Of a whole answer, header and all. nullopt: it begins with no OK packet, or not with all of that.
  static std::optional<OkPacket> of(Bytes answer);
};

}  // namespace postern::sql
