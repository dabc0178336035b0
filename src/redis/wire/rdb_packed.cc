#include "redis/wire/rdb_packed.h"

#include <utility>

#include "redis/wire/numbers.h"
#include "redis/wire/rdb_bytes.h"

namespace postern::redis::rdb {
namespace {

constexpr uint8_t end_mark = 0xFF;
constexpr size_t listpack_head_bytes = 6;
constexpr size_t ziplist_head_bytes = 10;
/// The maximal count in a header means that many or more.
constexpr uint64_t count_max = 0xFFFF;
constexpr uint8_t long_length = 0xFE;

bool take_text(Bytes &from, size_t size, std::string &text) {
  Bytes piece;
  if (!take_bytes(from, size, piece)) return false;
  text = piece;
  return true;
}

bool take_number(Bytes &from, size_t bytes, std::string &text) {
  Bytes piece;
  if (!take_bytes(from, bytes, piece)) return false;
  text = std::to_string(signed_little_endian(piece));
  return true;
}

bool take_sized(Bytes &from, size_t length_bytes, bool little, std::string &text) {
  Bytes length;
  if (!take_bytes(from, length_bytes, length)) return false;
  return take_text(from, little ? little_endian(length) : big_endian(length), text);
}

/// An element of a listpack, without its trailing size.
bool take_from_listpack(Bytes &from, std::string &text) {
  Bytes head;
  if (!take_bytes(from, 1, head)) return false;
  const uint8_t first = as_byte(head[0]);
  if (first < 0x80) {
    text = std::to_string(first);
    return true;
  }
  if (first < 0xC0) return take_text(from, first & 0x3F, text);
  if (first < 0xE0) {
    if (!take_bytes(from, 1, head)) return false;
    const int64_t number = ((first & 0x1F) << 8) | as_byte(head[0]);
    text = std::to_string(number < 4'096 ? number : number - 8'192);
    return true;
  }
  if (first < 0xF0) {
    if (!take_bytes(from, 1, head)) return false;
    return take_text(from, (size_t{first & 0x0FU} << 8) | as_byte(head[0]), text);
  }
  switch (first) {
    case 0xF0: return take_sized(from, 4, true, text);
    case 0xF1: return take_number(from, 2, text);
    case 0xF2: return take_number(from, 3, text);
    case 0xF3: return take_number(from, 4, text);
    case 0xF4: return take_number(from, 8, text);
    default: return false;
  }
}

/// The size of an element, stored after it for walks backwards.
std::string size_behind(size_t size) {
  size_t bytes = 1;
  for (const size_t bound : {size_t{128}, size_t{16'383}, size_t{2'097'151}, size_t{268'435'455}})
    bytes += size >= bound;
  std::string text;
  for (size_t i = bytes; i-- != 0;) text += static_cast<char>(((size >> 7 * i) & 0x7F) | (i + 1 == bytes ? 0 : 0x80));
  return text;
}

bool take_from_ziplist(Bytes &from, std::string &text) {
  Bytes head;
  if (!take_bytes(from, 1, head)) return false;
  const uint8_t first = as_byte(head[0]);
  switch (first >> 6) {
    case 0: return take_text(from, first & 0x3F, text);
    case 1:
      if (!take_bytes(from, 1, head)) return false;
      return take_text(from, (size_t{first & 0x3FU} << 8) | as_byte(head[0]), text);
    case 2: return take_sized(from, 4, false, text);
    default: break;
  }
  switch (first) {
    case 0xC0: return take_number(from, 2, text);
    case 0xD0: return take_number(from, 4, text);
    case 0xE0: return take_number(from, 8, text);
    case 0xF0: return take_number(from, 3, text);
    case 0xFE: return take_number(from, 1, text);
    default: break;
  }
  if (first < 0xF1 || first > 0xFD) return false;
  text = std::to_string((first & 0x0F) - 1);
  return true;
}

/// A length of one byte, or of four after a mark.
bool take_length(Bytes &from, size_t &length) {
  Bytes piece;
  if (!take_bytes(from, 1, piece)) return false;
  length = as_byte(piece[0]);
  if (length < long_length) return true;
  if (length != long_length || !take_bytes(from, 4, piece)) return false;
  length = little_endian(piece);
  return true;
}

bool is_end(Bytes rest) {
  return !rest.empty() && as_byte(rest[0]) == end_mark;
}

}  // namespace

bool unpack_listpack(Bytes bytes, const TakeElement &take) {
  if (bytes.size() <= listpack_head_bytes || little_endian(bytes.substr(0, 4)) != bytes.size()) return false;
  const uint64_t count = little_endian(bytes.substr(4, 2));
  uint64_t met = 0;
  Bytes rest = bytes.substr(listpack_head_bytes);
  for (; !is_end(rest); ++met) {
    const size_t before = rest.size();
    std::string text;
    if (!take_from_listpack(rest, text)) return false;
    const std::string behind = size_behind(before - rest.size());
    if (!rest.starts_with(behind)) return false;
    rest.remove_prefix(behind.size());
    if (!take(std::move(text))) return false;
  }
  return rest.size() == 1 && (count == count_max || count == met);
}

bool unpack_ziplist(Bytes bytes, const TakeElement &take) {
  if (bytes.size() <= ziplist_head_bytes || little_endian(bytes.substr(0, 4)) != bytes.size()) return false;
  const uint64_t count = little_endian(bytes.substr(8, 2));
  uint64_t met = 0;
  Bytes rest = bytes.substr(ziplist_head_bytes);
  for (; !is_end(rest); ++met) {
    size_t size_before = 0;
    std::string text;
    if (!take_length(rest, size_before) || !take_from_ziplist(rest, text) || !take(std::move(text))) return false;
  }
  return rest.size() == 1 && (count == count_max || count == met);
}

bool unpack_zipmap(Bytes bytes, const TakeElement &take) {
  if (bytes.empty()) return false;
  Bytes rest = bytes.substr(1);
  bool is_value = false;
  for (; !is_end(rest); is_value = !is_value) {
    size_t length = 0;
    Bytes unused;
    std::string text;
    if (!take_length(rest, length)) return false;
    if (is_value && !take_bytes(rest, 1, unused)) return false;
    if (!take_text(rest, length, text)) return false;
    if (is_value && !take_bytes(rest, as_byte(unused[0]), unused)) return false;
    if (!take(std::move(text))) return false;
  }
  return rest.size() == 1 && !is_value;
}

bool unpack_intset(Bytes bytes, const TakeElement &take) {
  constexpr size_t head_bytes = 8;
  if (bytes.size() < head_bytes) return false;
  const uint64_t width = little_endian(bytes.substr(0, 4));
  const uint64_t count = little_endian(bytes.substr(4, 4));
  if (width != 2 && width != 4 && width != 8) return false;
  Bytes rest = bytes.substr(head_bytes);
  if (rest.size() != width * count) return false;
  while (!rest.empty()) {
    std::string text;
    if (!take_number(rest, width, text) || !take(std::move(text))) return false;
  }
  return true;
}

Listpack::Listpack() : bytes_(listpack_head_bytes, '\0') {}

void Listpack::add(Bytes text) {
  int64_t number = 0;
  if (parse_integer(text, number)) return add(number);
  const size_t begin = bytes_.size();
  if (text.size() < 64) {
    bytes_ += static_cast<char>(0x80 | text.size());
  } else if (text.size() < 4'096) {
    put_big_endian(bytes_, 0xE000 | text.size(), 2);
  } else {
    bytes_ += static_cast<char>(0xF0);
    put_little_endian(bytes_, text.size(), 4);
  }
  bytes_.append(text);
  end_element(begin);
}

void Listpack::add(int64_t number) {
  const size_t begin = bytes_.size();
  const auto raw = static_cast<uint64_t>(number);
  const auto fits = [number](int bits) {
    return number >= -(int64_t{1} << (bits - 1)) && number < int64_t{1} << (bits - 1);
  };
  const auto put = [this, raw](uint8_t mark, size_t bytes) {
    bytes_ += static_cast<char>(mark);
    put_little_endian(bytes_, raw, bytes);
  };
  if (number >= 0 && number < 128) bytes_ += static_cast<char>(raw);
  else if (fits(13)) put_big_endian(bytes_, 0xC000 | (raw & 0x1FFF), 2);
  else if (fits(16)) put(0xF1, 2);
  else if (fits(24)) put(0xF2, 3);
  else if (fits(32)) put(0xF3, 4);
  else put(0xF4, 8);
  end_element(begin);
}

void Listpack::end_element(size_t begin) {
  bytes_.append(size_behind(bytes_.size() - begin));
  ++count_;
}

std::string Listpack::end() {
  bytes_ += static_cast<char>(end_mark);
  std::string head;
  put_little_endian(head, bytes_.size(), 4);
  put_little_endian(head, count_ < count_max ? count_ : count_max, 2);
  bytes_.replace(0, listpack_head_bytes, head);
  return std::move(bytes_);
}

}  // namespace postern::redis::rdb
