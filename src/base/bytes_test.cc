#include "base/bytes.h"

#include <gtest/gtest.h>

namespace postern {
namespace {

TEST(Bytes, ParsesNaturalNumbersOnly) {
  uint64_t number = 0;
  EXPECT_TRUE(parse_natural("18446744073709551615", number));
  EXPECT_EQ(number, UINT64_MAX);
  EXPECT_TRUE(parse_natural("007", number));
  EXPECT_EQ(number, 7u);
  for (const Bytes bad : {"", "-1", "+1", " 1", "1 ", "1x", "18446744073709551616", "0x10"})
    EXPECT_FALSE(parse_natural(bad, number)) << bad;
}

TEST(Bytes, PrintsTheWidestNumbersInTwentyBytes) {
  char text[20];
  EXPECT_EQ(Bytes(text, static_cast<size_t>(print_natural(text, UINT64_MAX) - text)), "18446744073709551615");
  EXPECT_EQ(Bytes(text, static_cast<size_t>(print_integer(text, INT64_MIN) - text)), "-9223372036854775808");
}

TEST(Bytes, SecretsAreEqualOnlyWhenEqual) {
  EXPECT_TRUE(equal_constant_time("secret", "secret"));
  EXPECT_TRUE(equal_constant_time("", ""));
  for (const Bytes wrong : {"", "secre", "secrets", "Secret", "secretsecret"})
    EXPECT_FALSE(equal_constant_time("secret", wrong)) << wrong;
  EXPECT_FALSE(equal_constant_time("", "x"));
}

}  // namespace
}  // namespace postern
