#include "engine/sql/packets/greeting.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace postern::sql {
namespace {

constexpr size_t header_bytes = 4;
constexpr char protocol_version = 10;
/// Bytes of the scramble before the capabilities; older clients do not know the rest.
constexpr size_t scramble_first_bytes = 8;
// Places after the first part of the scramble and the zero that ends it.
constexpr size_t status_place = 3;  // after half of the capabilities and a character set
constexpr size_t rest_place = 18;   // after the other half, a length and reserved bytes

void put_number(char *to, uint32_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>(number >> (8 * i));
}

bool has_number(Bytes bytes, size_t at, uint32_t number, size_t size) {
  std::array<char, 4> expected{};
  put_number(expected.data(), number, size);
  return bytes.substr(at, size) == Bytes(expected.data(), size);
}

}  // namespace

std::optional<Greeting> Greeting::of(Bytes packet, uint32_t number, Bytes scramble, uint16_t status) {
  if (packet.size() <= version_at || packet.size() > bytes_max || scramble.size() != scramble_bytes)
    return std::nullopt;
  if (!has_number(packet, 0, static_cast<uint32_t>(packet.size() - header_bytes), 4)) return std::nullopt;
  if (packet[header_bytes] != protocol_version) return std::nullopt;
  const size_t version_end = packet.find('\0', version_at);
  if (version_end == Bytes::npos) return std::nullopt;
  Greeting made;
  made.number_at_ = version_end + 1;
  made.scramble_at_ = made.number_at_ + 4;
  const size_t behind = made.scramble_at_ + scramble_first_bytes + 1;
  made.status_at_ = behind + status_place;
  made.scramble_rest_at_ = behind + rest_place;
  if (made.scramble_rest_at_ + scramble_bytes - scramble_first_bytes >= packet.size()) return std::nullopt;
  if (!has_number(packet, made.number_at_, number, 4) || !has_number(packet, made.status_at_, status, 2) ||
      packet.substr(made.scramble_at_, scramble_first_bytes) != scramble.substr(0, scramble_first_bytes) ||
      packet.substr(made.scramble_rest_at_, scramble_bytes - scramble_first_bytes) !=
          scramble.substr(scramble_first_bytes))
    return std::nullopt;
  made.packet_ = packet;
  return made;
}

void Greeting::write(Output &output, uint32_t number, Bytes scramble, uint16_t status) const {
  char *const to = output.reserve(packet_.size());
  std::ranges::copy(packet_, to);
  put_number(to + number_at_, number, 4);
  put_number(to + status_at_, status, 2);
  std::memcpy(to + scramble_at_, scramble.data(), scramble_first_bytes);
  std::memcpy(to + scramble_rest_at_, scramble.data() + scramble_first_bytes, scramble_bytes - scramble_first_bytes);
  output.commit(packet_.size());
}

Bytes name_in_answer(Bytes packet) {
  constexpr size_t name_at = 4 + 32;  // after the header, the capabilities and reserved bytes
  if (packet.size() <= name_at) return {};
  const Bytes rest = packet.substr(name_at);
  const size_t end = rest.find('\0');
  return end != Bytes::npos ? rest.substr(0, end) : Bytes();
}

}  // namespace postern::sql
