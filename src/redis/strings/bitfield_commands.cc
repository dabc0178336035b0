// bitfield_commands.cc: BITFIELD and BITFIELD_RO.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_edit.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

enum class Overflow : uint8_t { wrap, saturate, fail };

/// One operation on an integer somewhere in the string.
struct FieldOperation {
  enum class Kind : uint8_t { get, set, increment };
  Kind kind = Kind::get;
  Overflow overflow = Overflow::wrap;
  bool has_sign = false;
  uint8_t bits = 0;
  uint64_t offset = 0;
  int64_t value = 0;

  uint64_t end() const { return offset + bits; }
};
using Results = std::vector<std::optional<int64_t>>;

/// Beyond its end a string has zeros.
int64_t field_in(Bytes text, const FieldOperation &field) {
  uint64_t raw = 0;
  for (uint64_t at = field.offset; at < field.end(); ++at) {
    const bool on = at / 8 < text.size() && (static_cast<uint8_t>(text[at / 8]) >> (7 - at % 8) & 1) != 0;
    raw = raw << 1 | (on ? 1 : 0);
  }
  const unsigned unused = 64U - field.bits;
  if (field.has_sign) return static_cast<int64_t>(raw << unused) >> unused;
  return static_cast<int64_t>(raw);
}

void put_field(std::string &text, const FieldOperation &field, int64_t value) {
  for (unsigned i = 0; i < field.bits; ++i) {
    const uint64_t at = field.offset + i;
    const auto mask = static_cast<uint8_t>(1U << (7 - at % 8));
    const bool on = (static_cast<uint64_t>(value) >> (field.bits - 1 - i) & 1) != 0;
    const auto byte = static_cast<uint8_t>(text[at / 8]);
    text[at / 8] = static_cast<char>(on ? byte | mask : byte & ~mask);
  }
}

using Wide = __int128;

/// Makes a value fit by the overflow mode. False: the operation fails.
bool fit(const FieldOperation &field, Wide wide, int64_t &value) {
  const unsigned bits = field.has_sign ? field.bits - 1U : field.bits;
  const Wide max = (Wide{1} << bits) - 1;
  const Wide min = field.has_sign ? -max - 1 : 0;
  if (wide < min || wide > max) {
    switch (field.overflow) {
      case Overflow::fail: return false;
      case Overflow::saturate: wide = wide < min ? min : max; break;
      case Overflow::wrap: {
        const unsigned unused = 64U - field.bits;
        const uint64_t kept = static_cast<uint64_t>(wide) << unused;
        wide = field.has_sign ? Wide{static_cast<int64_t>(kept) >> unused} : Wide{kept >> unused};
        break;
      }
    }
  }
  value = static_cast<int64_t>(wide);
  return true;
}

std::optional<int64_t> operate(const FieldOperation &field, std::string &text) {
  const int64_t before = field_in(text, field);
  int64_t after = 0;
  switch (field.kind) {
    case FieldOperation::Kind::get: return before;
    case FieldOperation::Kind::set: {
      // Without a sign a negative number is a large one.
      const Wide wanted = field.has_sign ? Wide{field.value} : Wide{static_cast<uint64_t>(field.value)};
      if (!fit(field, wanted, after)) return std::nullopt;
      put_field(text, field, after);
      return before;
    }
    case FieldOperation::Kind::increment:
      if (!fit(field, Wide{before} + field.value, after)) return std::nullopt;
      put_field(text, field, after);
      return after;
  }
  return std::nullopt;
}

void write_results(Writer &writer, const Results &results) {
  writer.array(results.size());
  for (const std::optional<int64_t> &result : results) result ? writer.integer(*result) : writer.nil();
}

class BitfieldEdit final : public StringEdit, public Kept {
 public:
  BitfieldEdit(Call &call, const Place &place, std::vector<FieldOperation> fields)
      : StringEdit(call, place), fields_(std::move(fields)) {
    changed_made_ = changed({}, made_);
    results_ = made_;
    create(Value::of(changed_made_));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    changed_ = changed(std::string(text_of(now.value, room)), results_);
    next.set(Value::of(changed_));
    return Decision::write;
  }
  void tell(Writer writer) override { write_results(writer, results_); }
  void forget() override { results_ = made_; }

  std::string changed(std::string text, Results &results) const {
    uint64_t bytes = text.size();
    for (const FieldOperation &field : fields_)
      if (field.kind != FieldOperation::Kind::get) bytes = std::max(bytes, (field.end() + 7) / 8);
    text.resize(bytes, '\0');
    results.clear();
    for (const FieldOperation &field : fields_) results.push_back(operate(field, text));
    return text;
  }

  const std::vector<FieldOperation> fields_;
  Results results_;
  Results made_;  // results for a new string
  std::string changed_made_;
  std::string changed_;
};

/// `i16`, `u8`.
bool read_type(Bytes text, FieldOperation &field) {
  int64_t bits = 0;
  if (!text.starts_with('i') && !text.starts_with('u')) return false;
  field.has_sign = text.front() == 'i';
  if (!parse_integer(text.substr(1), bits) || bits < 1 || bits > (field.has_sign ? 64 : 63)) return false;
  field.bits = static_cast<uint8_t>(bits);
  return true;
}

/// In bits, or after a # in fields.
bool read_offset_of(Call &call, Bytes text, FieldOperation &field) {
  const bool in_fields = text.starts_with('#');
  int64_t offset = 0;
  if (!parse_integer(text.substr(in_fields ? 1 : 0), offset)) return false;
  if (in_fields && __builtin_mul_overflow(offset, int64_t{field.bits}, &offset)) return false;
  const bool reads = field.kind == FieldOperation::Kind::get;
  const uint64_t bytes_max = reads ? string_bytes_max : std::min<uint64_t>(value_bytes_max_of(call), string_bytes_max);
  if (offset < 0 || static_cast<uint64_t>(offset) / 8 >= bytes_max) return false;
  field.offset = static_cast<uint64_t>(offset);
  return true;
}

bool read_overflow(Bytes word, Overflow &overflow) {
  if (is_word(word, "wrap")) overflow = Overflow::wrap;
  else if (is_word(word, "sat")) overflow = Overflow::saturate;
  else if (is_word(word, "fail")) overflow = Overflow::fail;
  else return false;
  return true;
}

/// Takes one operation from the front. Returns an error, or nothing.
Bytes take_operation(Call &call, std::span<const Bytes> &words, FieldOperation &field) {
  const Bytes word = words[0];
  if (is_word(word, "get") && words.size() > 2) field.kind = FieldOperation::Kind::get;
  else if (is_word(word, "set") && words.size() > 3) field.kind = FieldOperation::Kind::set;
  else if (is_word(word, "incrby") && words.size() > 3) field.kind = FieldOperation::Kind::increment;
  else return syntax_error;
  const bool reads = field.kind == FieldOperation::Kind::get;
  if (!read_type(words[1], field))
    return "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.";
  if (!read_offset_of(call, words[2], field)) return "ERR bit offset is not an integer or out of range";
  if (!reads && !parse_integer(words[3], field.value)) return not_an_integer;
  words = words.subspan(reads ? 3 : 4);
  return {};
}

/// Returns false after answering an error.
bool read_operations(Call &call, std::vector<FieldOperation> &fields) {
  Overflow overflow = Overflow::wrap;
  Bytes error;
  for (std::span<const Bytes> words = call.arguments.subspan(2); !words.empty() && error.empty();) {
    if (is_word(words[0], "overflow") && words.size() > 1) {
      if (!read_overflow(words[1], overflow)) error = "ERR Invalid OVERFLOW type specified";
      words = words.subspan(2);
      continue;
    }
    error = take_operation(call, words, fields.emplace_back(FieldOperation{.overflow = overflow}));
  }
  if (!error.empty()) refuse(call, error);
  return error.empty();
}

Next get_fields(Call &call, const std::vector<FieldOperation> &fields) {
  const std::span<FieldOperation> kept = call.arena().array<FieldOperation>(fields.size());
  std::copy(fields.begin(), fields.end(), kept.begin());
  return read_string_key(call, call.arguments[1], [kept](Writer &writer, const KeyState *state, Row) {
    char room[20];
    if (state != nullptr && state->type != Type::string) return writer.error(wrong_type);
    const Bytes text = state == nullptr ? Bytes{} : text_of(state->value, room);
    writer.array(kept.size());
    for (const FieldOperation &field : kept) writer.integer(field_in(text, field));
  });
}

bool only_reads(const std::vector<FieldOperation> &fields) {
  return std::all_of(fields.begin(), fields.end(),
                     [](const FieldOperation &field) { return field.kind == FieldOperation::Kind::get; });
}

}  // namespace

namespace lower {

Next bitfield(Call &call) {
  std::vector<FieldOperation> fields;
  if (!read_operations(call, fields)) return Next::go_on;
  if (only_reads(fields)) return get_fields(call, fields);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, tables_of(call).keep<BitfieldEdit>(call, place, std::move(fields)), true);
}

Next bitfield_ro(Call &call) {
  std::vector<FieldOperation> fields;
  if (!read_operations(call, fields)) return Next::go_on;
  if (!only_reads(fields)) return refuse(call, "ERR BITFIELD_RO only supports the GET subcommand");
  return get_fields(call, fields);
}

}  // namespace lower
}  // namespace postern::redis
