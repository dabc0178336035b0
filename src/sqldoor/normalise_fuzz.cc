// Any text either is refused or has a form that differs from it only in the literals, and that is its own form.
//
// The first byte of an input chooses the rules.
#include <algorithm>
#include <cstdint>
#include <string>

#include "sqldoor/normalise.h"
#include "support/unit/fuzzing.h"

namespace postern::sqldoor {
namespace {

/// The value as a literal.
std::string literal(const Value &value, TextRules rules) {
  if (value.kind() != Value::Kind::bytes) return std::to_string(value.integer());
  const Bytes bytes = value.bytes();
  std::string literal;
  switch (value.spelling()) {
    case Value::Spelling::decimal:
    case Value::Spelling::real: return std::string(bytes);
    case Value::Spelling::binary: {
      if (bytes.empty()) return "_binary''";
      constexpr char digits[] = "0123456789abcdef";
      for (const char c : bytes) {
        literal += digits[static_cast<uint8_t>(c) >> 4];
        literal += digits[c & 15];
      }
      return "x'" + literal + "'";
    }
    case Value::Spelling::text: break;
  }
  for (const char c : bytes) {
    if (c == '\'' || (c == '\\' && rules.backslash_escapes)) literal += c;
    literal += c == '\0' ? std::string("\\0") : std::string(1, c);
  }
  return "'" + literal + "'";
}

/// The form with the values in place of ?; returns their number in `values`.
std::string filled(const NormalText &normal, TextRules rules, size_t &values) {
  std::string filled;
  char quote = '\0';
  for (const char c : normal.form()) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"' || c == '`') {
      quote = c;
    } else if (c == '?') {
      test::require(values < normal.values().size(), "a value for each ?");
      filled += literal(normal.values()[values++], rules);
      continue;
    }
    filled += c;
  }
  return filled;
}

bool same(const Value &one, const Value &other) {
  if (one.kind() != other.kind() || one.spelling() != other.spelling()) return false;
  return one.kind() == Value::Kind::bytes ? one.bytes() == other.bytes() : one.integer() == other.integer();
}

}  // namespace
}  // namespace postern::sqldoor

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace postern;
  using namespace postern::sqldoor;
  if (size == 0) return 0;
  const TextRules rules{.ansi_quotes = (data[0] & 1) != 0,
                        .backslash_escapes = (data[0] & 4) == 0,
                        .safe_characters = (data[0] & 2) == 0};
  const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  NormalText normal;
  if (!normal.read(text, rules)) return 0;
  const auto within = [](Bytes part, Bytes whole) {
    return part.begin() >= whole.begin() && part.end() <= whole.end();
  };
  for (const Value &value : normal.values()) {
    if (value.kind() != Value::Kind::bytes) continue;
    test::require(within(value.bytes(), text) || within(value.bytes(), normal.rewritten()), "points to what lives");
  }
  size_t values = 0;
  const std::string again = filled(normal, rules, values);
  test::require(values == normal.values().size(), "a ? for each value");
  if (again.size() > NormalText::text_bytes_max) return 0;
  NormalText second;
  test::require(second.read(again, rules), "what was read can be read again");
  test::require(second.form() == normal.form() && second.hash() == normal.hash(), "a form is its own form");
  test::require(std::ranges::equal(second.values(), normal.values(), same), "and has the same values");
  return 0;
}
