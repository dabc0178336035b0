#include "redis/wire/stream_id.h"

#include <array>
#include <charconv>

namespace postern::redis {

char *print_stream_id(char *to, StreamId id) {
  char *const end = to + stream_id_bytes_max;
  to = std::to_chars(to, end, id.ms).ptr;
  *to++ = '-';
  return std::to_chars(to, end, id.number).ptr;
}

std::string StreamId::text() const {
  std::array<char, stream_id_bytes_max> bytes;
  return {bytes.data(), print_stream_id(bytes.data(), *this)};
}

bool step_forward(StreamId &id) {
  if (id == last_stream_id) return false;
  if (id.number == std::numeric_limits<uint64_t>::max()) id = {id.ms + 1, 0};
  else ++id.number;
  return true;
}

bool step_back(StreamId &id) {
  if (id.is_zero()) return false;
  if (id.number == 0) id = {id.ms - 1, std::numeric_limits<uint64_t>::max()};
  else --id.number;
  return true;
}

bool parse_stream_id(Bytes text, uint64_t missing, StreamId &id) {
  const size_t dash = text.find('-');
  if (!parse_natural(text.substr(0, dash), id.ms)) return false;
  if (dash != Bytes::npos) return parse_natural(text.substr(dash + 1), id.number);
  id.number = missing;
  return true;
}

bool parse_stream_end(Bytes text, uint64_t missing, StreamId &id) {
  if (text == "-" || text == "+") {
    id = text == "-" ? StreamId{} : last_stream_id;
    return true;
  }
  return parse_stream_id(text, missing, id);
}

}  // namespace postern::redis
