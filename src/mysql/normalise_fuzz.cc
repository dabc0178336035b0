// Any text either is refused or has a form in which everything but the literals is the text, and which is its own form.
//
// The first byte of an input chooses the rules.
#include <cstdint>
#include <string>

#include "mysql/normalise.h"
#include "support/fuzzing.h"

namespace postern::mysql {
namespace {

/// The form with the values put back in place of ?; behind it, in `values`, how many there were.
std::string filled(const NormalText &normal, bool ansi_quotes, size_t &values) {
  std::string filled;
  char quote = '\0';
  for (const char c : normal.form()) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"' || c == '`') {
      quote = c;
    } else if (c == '?') {
      test::require(values < normal.values().size(), "a value for each ?");
      const Value &value = normal.values()[values++];
      if (value.kind() == Value::Kind::bytes) {
        const char around = ansi_quotes || value.bytes().find('\'') == Bytes::npos ? '\'' : '"';
        filled += around;
        filled += value.bytes();
        filled += around;
      } else {
        filled += std::to_string(value.integer());
      }
      continue;
    }
    filled += c;
  }
  return filled;
}

}  // namespace
}  // namespace postern::mysql

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace postern;
  using namespace postern::mysql;
  if (size == 0) return 0;
  const TextRules rules{.ansi_quotes = (data[0] & 1) != 0, .safe_characters = (data[0] & 2) == 0};
  const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  NormalText normal;
  if (!normal.read(text, rules)) return 0;
  for (const Value &value : normal.values()) {
    if (value.kind() != Value::Kind::bytes) continue;
    test::require(value.bytes().data() >= text.data() && value.bytes().end() <= Bytes(text).end(),
                  "points into the text");
    test::require(value.bytes().find('\\') == Bytes::npos, "no escapes in a text");
  }
  size_t values = 0;
  const std::string again = filled(normal, rules.ansi_quotes, values);
  test::require(values == normal.values().size(), "a ? for each value");
  NormalText second;
  test::require(second.read(again, rules), "what was read can be read again");
  test::require(second.form() == normal.form() && second.hash() == normal.hash(), "a form is its own form");
  test::require(second.values().size() == normal.values().size(), "and has the same values");
  return 0;
}
