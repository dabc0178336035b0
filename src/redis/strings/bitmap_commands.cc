#include <algorithm>
#include <bit>
#include <string>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_edit.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

constexpr Bytes bad_offset = "ERR bit offset is not an integer or out of range";

uint8_t byte_at(Bytes text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

bool bit_at(Bytes text, uint64_t bit) {
  const uint64_t at = bit / 8;
  return at < text.size() && (byte_at(text, at) >> (7 - bit % 8) & 1) != 0;
}

/// In a string of up to `bytes_max` bytes. Returns false after answering an error.
bool read_offset(Call &call, Bytes text, uint64_t bytes_max, uint64_t &bit) {
  int64_t number = 0;
  const bool good = parse_integer(text, number) && number >= 0 && static_cast<uint64_t>(number) / 8 < bytes_max;
  bit = static_cast<uint64_t>(number);
  if (!good) refuse(call, bad_offset);
  return good;
}

class SetBitEdit final : public StringEdit, public Kept {
 public:
  SetBitEdit(Call &call, const Place &place, uint64_t bit, bool on)
      : StringEdit(call, place), bit_(bit), on_(on), made_(with_bit({})) {
    create(Value::of(made_));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    const Bytes text = text_of(now.value, room);
    was_on_ = bit_at(text, bit_);
    changed_ = with_bit(std::string(text));
    next.set(Value::of(changed_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(was_on_ ? 1 : 0); }
  void forget() override { was_on_ = false; }

  std::string with_bit(std::string text) const {
    const size_t at = bit_ / 8;
    if (text.size() <= at) text.resize(at + 1, '\0');
    const auto mask = static_cast<uint8_t>(1 << (7 - bit_ % 8));
    const uint8_t byte = byte_at(text, at);
    text[at] = static_cast<char>(on_ ? byte | mask : byte & ~mask);
    return text;
  }

  const uint64_t bit_;
  const bool on_;
  bool was_on_ = false;
  const std::string made_;
  std::string changed_;
};

/// A range of bytes or bits of a string, as a client gives it.
struct BitRange {
  int64_t start = 0;
  int64_t end = -1;
  bool in_bits = false;
  bool has_end = false;

  /// Both ends count from the string's end, and the range ends before it begins. For BITCOUNT it is empty then; for
  /// BITPOS it is clipped at the string's beginning.
  bool ends_first() const { return start < 0 && end < 0 && start > end; }
};

/// Arguments from `first` on: nothing, or start, end, and BYTE or BIT; with `end_optional` a start alone, too. Returns
/// the error to answer if the key exists; empty if the arguments are valid.
Bytes read_range(Call &call, size_t first, bool end_optional, BitRange &range) {
  const auto words = call.arguments.subspan(std::min(first, call.arguments.size()));
  if (words.empty()) return {};
  const bool count_fits = (words.size() == 1 && end_optional) || words.size() == 2 || words.size() == 3;
  if (!count_fits) return syntax_error;
  if (!parse_integer(words[0], range.start) || (words.size() > 1 && !parse_integer(words[1], range.end)))
    return not_an_integer;
  range.has_end = words.size() > 1;
  if (words.size() < 3) return {};
  range.in_bits = is_word(words[2], "bit");
  return range.in_bits || is_word(words[2], "byte") ? Bytes{} : syntax_error;
}

/// The first bit of the range in a string of so many bytes, and the one after the last. False: there is none.
bool bits_of(const BitRange &range, size_t bytes, uint64_t &from, uint64_t &to) {
  const auto size = static_cast<int64_t>(range.in_bits ? bytes * 8 : bytes);
  const int64_t start = std::max<int64_t>(range.start < 0 ? range.start + size : range.start, 0);
  const int64_t end = std::min(std::max<int64_t>(range.end < 0 ? range.end + size : range.end, 0), size - 1);
  if (start > end) return false;
  const int64_t unit = range.in_bits ? 1 : 8;
  from = static_cast<uint64_t>(start * unit);
  to = static_cast<uint64_t>((end + 1) * unit);
  return true;
}

int64_t count_bits(Bytes text, uint64_t from, uint64_t to) {
  int64_t count = 0;
  for (; from < to && from % 8 != 0; ++from) count += bit_at(text, from) ? 1 : 0;
  for (; from + 8 <= to; from += 8) count += std::popcount(byte_at(text, from / 8));
  for (; from < to; ++from) count += bit_at(text, from) ? 1 : 0;
  return count;
}

/// -1: there is none.
int64_t find_bit(Bytes text, bool on, uint64_t from, uint64_t to) {
  const uint8_t none = on ? 0x00 : 0xff;
  while (from < to) {
    if (from % 8 == 0 && from + 8 <= to && byte_at(text, from / 8) == none) {
      from += 8;
      continue;
    }
    if (bit_at(text, from) == on) return static_cast<int64_t>(from);
    ++from;
  }
  return -1;
}

/// Reads one key as a string: `tell(Writer &, Bytes, bool there)`.
template <class Tell>
Next read_bits(Call &call, Tell tell) {
  return read_string_key(call, call.arguments[1], [tell](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return tell(writer, Bytes{}, false);
    if (state->type != Type::string) return writer.error(wrong_type);
    char room[20];
    tell(writer, text_of(state->value, room), true);
  });
}

}  // namespace

namespace lower {

Next setbit(Call &call) {
  uint64_t bit = 0;
  const uint64_t bytes_max = std::min<uint64_t>(value_bytes_max_of(call), string_bytes_max);
  if (!read_offset(call, call.arguments[2], bytes_max, bit)) return Next::go_on;
  const Bytes value = call.arguments[3];
  if (value != "0" && value != "1") return refuse(call, "ERR bit is not an integer or out of range");
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, tables_of(call).keep<SetBitEdit>(call, place, bit, value == "1"), true);
}

Next getbit(Call &call) {
  uint64_t bit = 0;
  if (!read_offset(call, call.arguments[2], string_bytes_max, bit)) return Next::go_on;
  return read_bits(call, [bit](Writer &writer, Bytes text, bool) { writer.integer(bit_at(text, bit) ? 1 : 0); });
}

Next bitcount(Call &call) {
  BitRange range;
  const Bytes error = read_range(call, 2, false, range);
  return read_bits(call, [range, error](Writer &writer, Bytes text, bool there) {
    uint64_t from = 0;
    uint64_t to = 0;
    if (there && !error.empty()) return writer.error(error);
    const bool any = there && !range.ends_first() && bits_of(range, text.size(), from, to);
    writer.integer(any ? count_bits(text, from, to) : 0);
  });
}

Next bitpos(Call &call) {
  BitRange range;
  int64_t bit = 0;
  if (!parse_integer(call.arguments[2], bit)) return refuse(call, not_an_integer);
  if (bit != 0 && bit != 1) return refuse(call, "ERR The bit argument must be 1 or 0.");
  const Bytes error = read_range(call, 3, true, range);
  return read_bits(call, [on = bit == 1, range, error](Writer &writer, Bytes text, bool there) {
    uint64_t from = 0;
    uint64_t to = 0;
    if (!there) return writer.integer(on ? -1 : 0);
    if (!error.empty()) return writer.error(error);
    if (!bits_of(range, text.size(), from, to)) return writer.integer(-1);
    const int64_t found = find_bit(text, on, from, to);
    // A string is followed by zeros without end, unless the client has said where it ends.
    if (found == -1 && !on && !range.has_end) return writer.integer(static_cast<int64_t>(text.size() * 8));
    writer.integer(found);
  });
}

}  // namespace lower
}  // namespace postern::redis
