#include "engine/mariadb/hosted/testing/value_words.h"

namespace postern::mariadb::test {

std::string test_word(FormTest test) {
  switch (test) {
    case FormTest::equal: return "=";
    case FormTest::in: return " in";
    case FormTest::tuple: return " in rows";
    case FormTest::less: return "<";
    case FormTest::at_most: return "<=";
    case FormTest::greater: return ">";
    case FormTest::at_least: return ">=";
    case FormTest::unequal: return "<>";
    case FormTest::like: return " like";
    case FormTest::null: return " null";
    case FormTest::not_null: return " not null";
  }
  return {};
}

namespace {

std::string time_word(const FormValue &value) {
  constexpr const char *names[] = {"now", "utc", "today", "utc today"};
  constexpr const char *units[] = {"years", "quarters", "months", "weeks", "days", "hours", "minutes", "seconds"};
  std::string word = names[static_cast<size_t>(value.time.what)];
  if (value.time.digits != 0) word += "." + std::to_string(value.time.digits);
  if (value.terms.empty()) return word;
  return word + (value.time.backwards ? " - " : " + ") + value_word(value.terms[0]) + " " + units[value.time.unit];
}

}  // namespace

std::string value_word(const FormValue &value) {
  switch (value.from) {
    case FormValue::From::argument: return "?" + std::to_string(value.argument);
    case FormValue::From::integer: return std::to_string(value.integer);
    case FormValue::From::text: return "'" + value.text + "'";
    case FormValue::From::sum: {
      constexpr const char *signs[] = {" + ", " - ", " * "};
      const std::string first = value_word(value.terms[0]);
      if (value.sum == FormValue::Sum::negate) return "-(" + first + ")";
      return "(" + first + signs[static_cast<size_t>(value.sum)] + value_word(value.terms[1]) + ")";
    }
    case FormValue::From::seconds: return "seconds now";
    case FormValue::From::time: return time_word(value);
    case FormValue::From::variable: return "@" + value.text;
    case FormValue::From::told_id: return "last_insert_id()";
    case FormValue::From::session: return "connection_id()";
    case FormValue::From::null: return "NULL";
    case FormValue::From::standard: return "DEFAULT";
  }
  return {};
}

std::string value_words(const std::vector<FormValue> &values) {
  std::string all;
  for (const FormValue &one : values) all += " " + value_word(one);
  return all;
}

}  // namespace postern::mariadb::test
