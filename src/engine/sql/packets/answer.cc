#include "engine/sql/packets/answer.h"

namespace postern::sql {
namespace {

/// The bits of a session's status that belong to one answer alone.
constexpr uint16_t more_results = 8;
constexpr uint16_t cursor = 64 | 128;
constexpr uint16_t state_changed = 0x4000;

/// The smallest payloads of an EOF packet and of an OK packet without rows and text; both have the status at the same
/// place.
constexpr size_t status_at = 3;
constexpr size_t eof_bytes = 5;
constexpr size_t ok_bytes = 7;
constexpr unsigned char end_mark = 0xFE;
constexpr size_t payload_bytes_max = 0xFFFFFE;

uint8_t byte(Bytes bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

uint16_t two_bytes(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(byte(bytes, at) | byte(bytes, at + 1) << 8);
}

/// Takes packets off the beginning of an answer.
class Reader {
 public:
  explicit Reader(Bytes packets) : all_(packets), rest_(packets) {}

  /// False if no complete packet with the next number is left.
  bool next(Bytes &payload) {
    if (rest_.size() < 4) return false;
    const size_t size = byte(rest_, 0) | size_t{byte(rest_, 1)} << 8 | size_t{byte(rest_, 2)} << 16;
    if (size == 0 || size > payload_bytes_max || rest_.size() - 4 < size) return false;
    if (byte(rest_, 3) != static_cast<uint8_t>(++count_)) return false;
    payload = rest_.substr(4, size);
    rest_.remove_prefix(4 + size);
    return true;
  }
  uint32_t count() const { return count_; }
  Bytes taken() const { return all_.substr(0, all_.size() - rest_.size()); }
  bool at_end() const { return rest_.empty(); }

 private:
  const Bytes all_;
  Bytes rest_;
  uint32_t count_ = 0;
};

/// A length-encoded integer, in the range of column counts.
bool take_number(Bytes &bytes, size_t &number) {
  if (bytes.empty() || byte(bytes, 0) == 0xFB || byte(bytes, 0) > 0xFC) return false;
  const size_t size = byte(bytes, 0) == 0xFC ? 3 : 1;
  if (bytes.size() < size) return false;
  number = size == 3 ? two_bytes(bytes, 1) : byte(bytes, 0);
  bytes.remove_prefix(size);
  return true;
}

/// The type and the NOT_NULL flag in a column's definition; false if malformed.
bool read_column(Bytes definition, bool extended, uint8_t &type, bool &never_null) {
  for (int texts = extended ? 7 : 6; texts != 0; --texts) {
    size_t size = 0;
    if (!take_number(definition, size) || definition.size() < size) return false;
    definition.remove_prefix(size);
  }
  constexpr size_t fixed_bytes = 13;
  if (definition.size() < fixed_bytes || byte(definition, 0) != 12) return false;
  type = byte(definition, 7);
  never_null = (byte(definition, 8) & 1) != 0;
  return true;
}

bool is_end(Bytes payload, AnswerForm form) {
  return byte(payload, 0) == end_mark && payload.size() < (form.deprecate_eof ? payload_bytes_max : 9);
}

}  // namespace

std::optional<Answer> Answer::of(Bytes packets, AnswerForm form) {
  Answer answer;
  answer.form_ = form;
  Reader reader(packets);
  Bytes payload;
  size_t columns = 0;
  if (!reader.next(payload) || !take_number(payload, columns) || columns == 0) return {};
  bool told = true;
  if (form.cache_metadata) {
    if (payload.empty() || byte(payload, 0) > 1) return {};
    told = byte(payload, 0) == 1;
    payload.remove_prefix(1);
  }
  if (!payload.empty()) return {};
  answer.columns_ = static_cast<uint32_t>(columns);
  for (size_t i = 0; told && i < columns; ++i) {
    uint8_t type = 0;
    bool never_null = false;
    if (!reader.next(payload) || !read_column(payload, form.extended, type, never_null)) return {};
    answer.types_.push_back(type);
    answer.never_null_.push_back(never_null);
  }
  if (!form.deprecate_eof) {
    if (!reader.next(payload) || payload.size() != eof_bytes || byte(payload, 0) != end_mark) return {};
    answer.head_status_at_ = reader.taken().size() - eof_bytes + status_at;
  }
  answer.head_ = reader.taken();
  answer.head_packets_ = reader.count();
  do {
    if (!reader.next(payload) || byte(payload, 0) == 0xFF) return {};
  } while (!is_end(payload, form));
  if (!reader.at_end() || payload.size() != (form.deprecate_eof ? ok_bytes : eof_bytes)) return {};
  const uint16_t warnings = two_bytes(payload, form.deprecate_eof ? 5 : 1);
  const uint16_t unchanged = form.deprecate_eof ? two_bytes(payload, 1) : 0;
  answer.status_ = two_bytes(payload, status_at);
  if (warnings != 0 || unchanged != 0 || answer.status_ & (more_results | cursor | state_changed)) return {};
  answer.end_ = payload;
  return answer;
}

void Answer::put_head(Packets &packets, uint16_t status) const {
  if (head_status_at_ == std::string::npos) return packets.put_whole(head_, head_packets_);
  const Bytes head(head_);
  const char bytes[] = {static_cast<char>(status), static_cast<char>(status >> 8)};
  packets.put_whole(head.substr(0, head_status_at_), head_packets_);
  packets.put_whole({bytes, sizeof bytes}, 0);
  packets.put_whole(head.substr(head_status_at_ + sizeof bytes), 0);
}

void Answer::put_end(Packets &packets, uint16_t status) const {
  char payload[ok_bytes];
  end_.copy(payload, sizeof payload);
  payload[status_at] = static_cast<char>(status);
  payload[status_at + 1] = static_cast<char>(status >> 8);
  packets.put({payload, end_.size()});
}

}  // namespace postern::sql
