#include "engine/sql/packets/prepare_answer.h"

#include <array>

namespace postern::sql {
namespace {

constexpr size_t header_bytes = 4;
constexpr size_t id_at = header_bytes + 1;
constexpr size_t columns_at = header_bytes + 5;
constexpr size_t parameters_at = header_bytes + 7;
constexpr size_t warnings_at = header_bytes + 10;
constexpr size_t first_packet_bytes = header_bytes + 12;
/// An EOF packet, and where in it the status is.
constexpr size_t end_bytes = 5;
constexpr size_t status_in_end = 3;
constexpr char end_mark = '\xfe';

uint32_t number(Bytes bytes, size_t at, size_t size) {
  uint32_t number = 0;
  for (size_t i = size; i != 0; --i) number = number << 8 | static_cast<uint8_t>(bytes[at + i - 1]);
  return number;
}

/// Passes one packet from `at` on; false if it is not there, or has another number.
bool pass(Bytes packets, size_t &at, uint32_t &count, Bytes &payload) {
  if (packets.size() < at + header_bytes) return false;
  const size_t size = number(packets, at, 3);
  if (size == 0 || packets.size() - at - header_bytes < size) return false;
  if (static_cast<uint8_t>(packets[at + 3]) != static_cast<uint8_t>(++count)) return false;
  payload = packets.substr(at + header_bytes, size);
  at += header_bytes + size;
  return true;
}

std::array<char, 4> four_bytes(uint32_t number) {
  return {static_cast<char>(number), static_cast<char>(number >> 8), static_cast<char>(number >> 16),
          static_cast<char>(number >> 24)};
}

}  // namespace

std::optional<PrepareAnswer> PrepareAnswer::of(Bytes packets, bool deprecate_eof) {
  size_t at = 0;
  uint32_t count = 0;
  Bytes payload;
  if (!pass(packets, at, count, payload) || at != first_packet_bytes || payload[0] != '\0') return std::nullopt;
  if (number(packets, warnings_at, 2) != 0) return std::nullopt;
  PrepareAnswer answer;
  for (const size_t from : {parameters_at, columns_at}) {
    const uint32_t definitions = number(packets, from, 2);
    for (uint32_t i = 0; i < definitions; ++i)
      if (!pass(packets, at, count, payload) || payload[0] == '\xff') return std::nullopt;
    if (definitions == 0 || deprecate_eof) continue;
    if (!pass(packets, at, count, payload) || payload.size() != end_bytes || payload[0] != end_mark ||
        number(payload, 1, 2) != 0)
      return std::nullopt;
    answer.status_at_.push_back(at - end_bytes + status_in_end);
  }
  if (at != packets.size()) return std::nullopt;
  answer.packets_ = packets;
  answer.id_ = number(packets, id_at, 4);
  return answer;
}

void PrepareAnswer::put(Output &output, uint32_t id, uint16_t status) const {
  const std::array<char, 4> id_bytes = four_bytes(id);
  const std::array<char, 4> status_bytes = four_bytes(status);
  const Bytes all = packets_;
  output.put(all.substr(0, id_at));
  output.put({id_bytes.data(), id_bytes.size()});
  size_t written = id_at + id_bytes.size();
  for (const size_t at : status_at_) {
    output.put(all.substr(written, at - written));
    output.put({status_bytes.data(), 2});
    written = at + 2;
  }
  output.put(all.substr(written));
}

}  // namespace postern::sql
