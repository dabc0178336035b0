#include "engine/sql/integers.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace postern::sql {
namespace {

constexpr IntegerType tinyint{.bytes = 1}, tinyint_unsigned{.bytes = 1, .is_unsigned = true}, bigint{.bytes = 8},
    bigint_unsigned{.bytes = 8, .is_unsigned = true};

std::string parsed(Bytes text) {
  Number number;
  if (!parse_number(text, number)) return "no";
  std::string shown = number.negative ? "-" : "";
  shown += number.overflow ? "giant" : std::to_string(number.magnitude);
  if (number.has_point) shown += number.fraction ? " and more" : " whole";
  return shown;
}

std::string fitted(Bytes text, IntegerType type) {
  Number number;
  int64_t stored = 0;
  if (!parse_number(text, number)) return "no";
  const Fit fit = fit_integer(number, type, stored);
  const char *const how = fit == Fit::exact ? "" : fit == Fit::below ? " below" : " above";
  return (type.is_unsigned ? std::to_string(static_cast<uint64_t>(stored)) : std::to_string(stored)) + how;
}

std::string bound(double given, IntegerType type) {
  int64_t stored = 0;
  const Fit fit = fit_bound(given, type, stored);
  const char *const how = fit == Fit::exact ? "" : fit == Fit::below ? " below" : " above";
  return (type.is_unsigned ? std::to_string(static_cast<uint64_t>(stored)) : std::to_string(stored)) + how;
}

void check(std::initializer_list<std::pair<Bytes, Bytes>> examples) {
  for (const auto &[text, number] : examples) EXPECT_EQ(parsed(text), number) << text;
}

TEST(Integers, ReadSignsAndPoints) {
  check({{"0", "0"},
         {"-0", "-0"},
         {"+7", "7"},
         {"007", "7"},
         {"-12.50", "-12 and more"},
         {"12.00", "12 whole"},
         {"5.", "5 whole"},
         {".5", "0 and more"},
         {"18446744073709551615", "18446744073709551615"},
         {"18446744073709551616", "giant"},
         {"-99999999999999999999.9", "-giant and more"}});
}

TEST(Integers, ReadNothingElse) {
  for (const Bytes text : {"", "-", "+", ".", "+-5", "--5", "1 ", " 1", "1e3", "0x1", "1.2.3", "a", "1a", "-.", "1-"})
    EXPECT_EQ(parsed(text), "no") << text;
}

TEST(Integers, ReadShortNaturalNumbersAtOnce) {
  uint64_t number = 0;
  EXPECT_TRUE(parse_short_natural("999999999999999999", number));
  EXPECT_EQ(number, 999999999999999999u);
  for (const Bytes text : {"1000000000000000000", "-1", "+1", "1.0", ""})
    EXPECT_FALSE(parse_short_natural(text, number));
}

TEST(Integers, FitTheirTypeOrShowOnWhichSideTheyAre) {
  EXPECT_EQ(fitted("127", tinyint), "127");
  EXPECT_EQ(fitted("128", tinyint), "127 below");
  EXPECT_EQ(fitted("-128", tinyint), "-128");
  EXPECT_EQ(fitted("-129", tinyint), "-128 above");
  EXPECT_EQ(fitted("255", tinyint_unsigned), "255");
  EXPECT_EQ(fitted("256", tinyint_unsigned), "255 below");
  EXPECT_EQ(fitted("-1", tinyint_unsigned), "0 above");
  EXPECT_EQ(fitted("-0", tinyint_unsigned), "0");
  EXPECT_EQ(fitted("1.5", tinyint), "1 below");
  EXPECT_EQ(fitted("-1.5", tinyint), "-1 above");
  EXPECT_EQ(fitted("-0.5", tinyint_unsigned), "0 above");
  EXPECT_EQ(fitted("9223372036854775807", bigint), "9223372036854775807");
  EXPECT_EQ(fitted("9223372036854775808", bigint), "9223372036854775807 below");
  EXPECT_EQ(fitted("-9223372036854775808", bigint), "-9223372036854775808");
  EXPECT_EQ(fitted("-99999999999999999999", bigint), "-9223372036854775808 above");
  EXPECT_EQ(fitted("18446744073709551615", bigint_unsigned), "18446744073709551615");
  EXPECT_EQ(fitted("18446744073709551616", bigint_unsigned), "18446744073709551615 below");
}

TEST(Integers, BoundsGoDownToTheNextInteger) {
  EXPECT_EQ(bound(1.5, tinyint), "1 below");
  EXPECT_EQ(bound(-1.5, tinyint), "-2 below");
  EXPECT_EQ(bound(7, tinyint), "7");
  EXPECT_EQ(bound(128, tinyint), "127 below");
  EXPECT_EQ(bound(-128.5, tinyint), "-128 above");
  EXPECT_EQ(bound(-0.5, tinyint_unsigned), "0 above");
  EXPECT_EQ(bound(1e30, bigint), "9223372036854775807 below");
  EXPECT_EQ(bound(-1e30, bigint), "-9223372036854775808 above");
  EXPECT_EQ(bound(1e19, bigint_unsigned), "10000000000000000000");
  EXPECT_EQ(bound(1e30, bigint_unsigned), "18446744073709551615 below");
}

TEST(Fit, SaysWhichComparisonIsMeant) {
  EXPECT_EQ(adjusted(Comparison::equal, Fit::below), Comparison::never);
  EXPECT_EQ(adjusted(Comparison::at_least, Fit::below), Comparison::greater);
  EXPECT_EQ(adjusted(Comparison::greater, Fit::above), Comparison::at_least);
  EXPECT_EQ(adjusted(Comparison::less, Fit::below), Comparison::at_most);
  EXPECT_EQ(adjusted(Comparison::at_most, Fit::above), Comparison::less);
  EXPECT_EQ(adjusted(Comparison::at_most, Fit::exact), Comparison::at_most);
}

}  // namespace
}  // namespace postern::sql
