#include "engine/sql/packets/ok_packet.h"

namespace postern::sql {
namespace {

/// A number of so many bytes, the lowest first. False: there are too few.
bool take(Bytes &bytes, size_t size, uint64_t &number) {
  if (bytes.size() < size) return false;
  number = 0;
  for (size_t i = size; i-- != 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  bytes.remove_prefix(size);
  return true;
}

/// A length-encoded integer.
bool take_number(Bytes &bytes, uint64_t &number) {
  if (!take(bytes, 1, number)) return false;
  if (number < 0xFB) return true;
  const size_t size = number == 0xFC ? 2 : number == 0xFD ? 3 : number == 0xFE ? 8 : 0;
  return size != 0 && take(bytes, size, number);
}

}  // namespace

std::optional<OkPacket> OkPacket::of(Bytes answer) {
  constexpr size_t header_bytes = 4;
  if (answer.size() <= header_bytes || answer[header_bytes] != 0) return std::nullopt;
  answer.remove_prefix(header_bytes + 1);
  OkPacket packet;
  uint64_t status = 0;
  uint64_t warnings = 0;
  if (!take_number(answer, packet.affected) || !take_number(answer, packet.insert_id) || !take(answer, 2, status) ||
      !take(answer, 2, warnings))
    return std::nullopt;
  packet.status = static_cast<uint16_t>(status);
  packet.warnings = static_cast<uint16_t>(warnings);
  return packet;
}

}  // namespace postern::sql
