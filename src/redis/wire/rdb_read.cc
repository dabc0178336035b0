// rdb_read.cc: restore().
#include <bit>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "redis/wire/numbers.h"
#include "redis/wire/rdb.h"
#include "redis/wire/rdb_bytes.h"
#include "redis/wire/rdb_packed.h"
#include "redis/wire/rdb_stream_reader.h"
#include "redis/wire/rdb_types.h"
#include "redis/wire/rdb_value.h"

namespace postern::redis::rdb {
namespace {

using Kind = DumpedValue::Kind;

/// The score of an older version: the length of its text, or a mark.
bool read_old_score(Reader &from, double &score) {
  constexpr uint8_t positive_infinity = 254;
  constexpr uint8_t negative_infinity = 255;
  uint8_t length = 0;
  Bytes text;
  if (!from.byte(length)) return false;
  if (length == positive_infinity || length == negative_infinity) {
    score = length == positive_infinity ? HUGE_VAL : -HUGE_VAL;
    return true;
  }
  return from.take(length, text) && parse_double(text, score);
}

class ValueReader {
 public:
  ValueReader(Bytes payload, size_t bytes_max, DumpedValue &value)
      : from_(payload), budget_(bytes_max), value_(value) {}

  bool read() {
    uint8_t type = 0;
    if (!from_.byte(type) || !read_as(static_cast<RdbType>(type))) return false;
    if (value_.kind == Kind::string || value_.kind == Kind::stream) return true;
    return !value_.texts.empty() && is_complete();
  }

 private:
  bool read_as(RdbType type) {
    switch (type) {
      case RdbType::string: return read_text();
      case RdbType::list: return read_texts(Kind::list, 1);
      case RdbType::set: return read_texts(Kind::set, 1);
      case RdbType::hash: return read_texts(Kind::hash, 2);
      case RdbType::sorted_set: return read_scored(false);
      case RdbType::sorted_set_2: return read_scored(true);
      case RdbType::hash_zipmap: return read_packed(Kind::hash, unpack_zipmap);
      case RdbType::list_ziplist: return read_packed(Kind::list, unpack_ziplist);
      case RdbType::set_intset: return read_packed(Kind::set, unpack_intset);
      case RdbType::sorted_set_ziplist: return read_packed(Kind::sorted_set, unpack_ziplist);
      case RdbType::hash_ziplist: return read_packed(Kind::hash, unpack_ziplist);
      case RdbType::list_quicklist: return read_quicklist(false);
      case RdbType::hash_listpack: return read_packed(Kind::hash, unpack_listpack);
      case RdbType::sorted_set_listpack: return read_packed(Kind::sorted_set, unpack_listpack);
      case RdbType::list_quicklist_2: return read_quicklist(true);
      case RdbType::stream_listpacks: return read_stream(false);
      case RdbType::stream_listpacks_2: return read_stream(true);
    }
    return false;
  }

  bool add(std::string text) {
    if (!budget_.take(sizeof(std::string) + text.size())) return false;
    value_.texts.push_back(std::move(text));
    return true;
  }

  bool read_text() {
    std::string text;
    return from_.string(text, budget_.left()) && add(std::move(text));
  }

  bool read_texts(Kind kind, uint64_t each) {
    uint64_t count = 0;
    value_.kind = kind;
    if (!from_.length(count)) return false;
    for (uint64_t i = 0; i < count; ++i)
      for (uint64_t part = 0; part < each; ++part)
        if (!read_text()) return false;
    return true;
  }

  bool read_scored(bool binary) {
    uint64_t count = 0;
    value_.kind = Kind::sorted_set;
    if (!from_.length(count)) return false;
    for (; count != 0; --count) {
      double score = 0;
      if (!read_text() || !(binary ? read_score(score) : read_old_score(from_, score)) || std::isnan(score))
        return false;
      value_.scores.push_back(score);
    }
    return true;
  }

  bool read_score(double &score) {
    Bytes raw;
    if (!from_.take(sizeof score, raw)) return false;
    score = std::bit_cast<double>(little_endian(raw));
    return true;
  }

  using Unpack = bool (*)(Bytes, const TakeElement &);
  bool read_packed(Kind kind, Unpack unpack) {
    value_.kind = kind;
    std::string packed;
    if (!from_.string(packed, budget_.left())) return false;
    return unpack(packed, [this](std::string text) { return add(std::move(text)); }) && divide();
  }

  /// The scores of a packed sorted set are elements as its members are.
  bool divide() {
    if (value_.kind != Kind::sorted_set) return true;
    std::vector<std::string> &texts = value_.texts;
    if (texts.size() % 2 != 0) return false;
    for (size_t i = 0; i < texts.size(); i += 2) {
      double score = 0;
      if (!parse_double(texts[i + 1], score)) return false;
      value_.scores.push_back(score);
      std::swap(texts[i / 2], texts[i]);
    }
    texts.resize(texts.size() / 2);
    return true;
  }

  bool read_quicklist(bool of_listpacks) {
    constexpr uint64_t plain = 1;
    constexpr uint64_t packed = 2;
    uint64_t count = 0;
    value_.kind = Kind::list;
    if (!from_.length(count)) return false;
    for (; count != 0; --count) {
      uint64_t container = packed;
      if (of_listpacks && (!from_.length(container) || (container != plain && container != packed))) return false;
      if (container == plain) {
        if (!read_text() || value_.texts.back().empty()) return false;
      } else if (!read_packed(Kind::list, of_listpacks ? unpack_listpack : unpack_ziplist)) {
        return false;
      }
    }
    return true;
  }

  bool read_stream(bool second) {
    value_.kind = Kind::stream;
    return StreamReader(from_, budget_, value_.stream).read(second);
  }

  /// Whether fields have values, and no member or field comes twice.
  bool is_complete() const {
    if (value_.kind == Kind::list) return true;
    const size_t step = value_.kind == Kind::hash ? 2 : 1;
    if (value_.texts.size() % step != 0) return false;
    std::unordered_set<Bytes> met;
    for (size_t i = 0; i < value_.texts.size(); i += step)
      if (!met.insert(value_.texts[i]).second) return false;
    return true;
  }

  Reader from_;
  Budget budget_;
  DumpedValue &value_;
};

}  // namespace

bool restore(Bytes payload, size_t bytes_max, DumpedValue &value) {
  value = {};
  if (payload.size() < footer_bytes) return false;
  return ValueReader(payload.substr(0, payload.size() - footer_bytes), bytes_max, value).read();
}

}  // namespace postern::redis::rdb
