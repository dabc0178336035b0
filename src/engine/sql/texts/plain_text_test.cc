#include "engine/sql/texts/plain_text.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(PlainTextTest, AnIntegerIsOneThatADoubleHoldsToo) {
  int64_t number = 1;
  EXPECT_TRUE(is_plain_integer("0", number));
  EXPECT_EQ(number, 0);
  EXPECT_TRUE(is_plain_integer("-7", number));
  EXPECT_EQ(number, -7);
  EXPECT_TRUE(is_plain_integer("999999999999999", number));
  EXPECT_EQ(number, 999'999'999'999'999);
  for (const Bytes text :
       {"", "-", "+1", " 1", "1 ", "01", "-0", "00", "1.0", "1e2", "0x1", "1000000000000000", "--1", "a"})
    EXPECT_FALSE(is_plain_integer(text, number)) << text;
}

TEST(PlainTextTest, ALiteralIsToldByTheWordBeforeItsQuotes) {
  Bytes inside;
  EXPECT_EQ(written("1.5e3", inside), Written::number);
  EXPECT_EQ(inside, "1.5e3");
  EXPECT_EQ(written("date'2026-01-31'", inside), Written::date);
  EXPECT_EQ(inside, "2026-01-31");
  EXPECT_EQ(written("TIMESTAMP'2026-01-31 10:00:00'", inside), Written::timestamp);
  EXPECT_EQ(inside, "2026-01-31 10:00:00");
  EXPECT_EQ(written("_utf8mb4''", inside), Written::unicode);
  EXPECT_EQ(inside, "");
  EXPECT_EQ(written("N'a'", inside), Written::unicode);
  EXPECT_EQ(inside, "a");
}

TEST(PlainTextTest, ANumberWithAPointOrAnExponentMayBeAnInteger) {
  const auto told = [](Bytes text, Value::Spelling spelling) {
    int64_t number = -77;
    return is_integer_as_written(Value::of_literal(text, spelling), number) ? number : -77;
  };
  EXPECT_EQ(told("1e3", Value::Spelling::real), 1000);
  EXPECT_EQ(told("-1.50e1", Value::Spelling::real), -77);  // its digits are not checked as strictly
  EXPECT_EQ(told("-10e-1", Value::Spelling::real), -1);
  EXPECT_EQ(told("5.000", Value::Spelling::decimal), 5);
  EXPECT_EQ(told("-12.0", Value::Spelling::decimal), -12);
  EXPECT_EQ(told("999999999999999.0", Value::Spelling::decimal), 999'999'999'999'999);
  for (const Bytes none : {"5.5", "1000000000000000.0", "5.00000000000000000000001", "9007199254740993.0"})
    EXPECT_EQ(told(none, Value::Spelling::decimal), -77) << none;
  for (const Bytes none : {"1e-1", "1e15", "1e99", "DATE'2026-01-31'", "N'5'"})
    EXPECT_EQ(told(none, Value::Spelling::real), -77) << none;
  EXPECT_EQ(told("5", Value::Spelling::text), -77);
}

TEST(PlainTextTest, ADateHasNoPartThatIsZero) {
  EXPECT_TRUE(is_plain_date("2026-11-26"));
  EXPECT_TRUE(is_plain_date("0001-01-01"));
  EXPECT_TRUE(is_plain_date("2026-02-31")) << "the column refuses it";
  for (const Bytes text : {"", "2026-11-2", "2026-11-266", "26-11-26", "0000-11-26", "2026-00-26", "2026-11-00",
                           "2026/11/26", "2026-1a-26", " 2026-11-26", "2026-11-26 00:00:00", "20261126"})
    EXPECT_FALSE(is_plain_date(text)) << text;
}

TEST(PlainTextTest, ATimeHasNoMoreDigitsThanTheColumn) {
  EXPECT_TRUE(is_plain_datetime("2026-11-26 00:00:00", 0));
  EXPECT_TRUE(is_plain_datetime("2026-11-26 23:59:59.123456", 6));
  EXPECT_TRUE(is_plain_datetime("2026-11-26 23:59:59.1", 6));
  EXPECT_FALSE(is_plain_datetime("2026-11-26 23:59:59.1234", 3));
  EXPECT_FALSE(is_plain_datetime("2026-11-26 23:59:59.1", 0));
  for (const Bytes text : {"", "2026-11-26", "2026-11-26T23:59:59", "2026-11-26 23:59", "2026-11-26 23:59:59.",
                           "2026-11-26 23:59:59,1", "2026-11-26 23:59:59.1a", "2026-11-26 23:59:59Z",
                           "0000-11-26 23:59:59", "2026-00-26 23:59:59", "2026-11-00 23:59:59"})
    EXPECT_FALSE(is_plain_datetime(text, 6)) << text;
}

TEST(PlainTextTest, AUuidHasItsHyphensInTheUsualPlacesOrNone) {
  EXPECT_TRUE(is_plain_uuid("123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_TRUE(is_plain_uuid("123E4567-E89B-12D3-A456-42661417400F"));
  EXPECT_TRUE(is_plain_uuid("123e4567e89b12d3a456426614174000"));
  for (const Bytes text : {"", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-4266141740000",
                           "123e4567e-89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-42661417400g",
                           "{123e4567e89b12d3a45642661417400}", "123e4567e89b12d3a45642661417400 ",
                           "123e4567-e89b-12d3-a456_426614174000"})
    EXPECT_FALSE(is_plain_uuid(text)) << text;
}

}  // namespace
}  // namespace postern::sql
