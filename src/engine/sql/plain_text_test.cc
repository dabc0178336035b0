#include "engine/sql/plain_text.h"

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

}  // namespace
}  // namespace postern::sql
