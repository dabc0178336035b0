#include "engine/sql/plans/plan_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"

namespace postern::sql {
namespace {

TEST(PlanValuesTest, LimitsOfOneClassShareAPlan) {
  EXPECT_EQ(limit_class(1), 1u);
  EXPECT_EQ(limit_class(9), 16u);
  EXPECT_EQ(limit_class(16), 16u);
  EXPECT_EQ(limit_class(17), 32u);
}

TEST(PlanValuesTest, ARowCountIsNeitherNegativeNorSoLargeThatSumsOverflow) {
  uint64_t rows = 0;
  EXPECT_TRUE(is_row_count(Value::of_integer(10), rows));
  EXPECT_EQ(rows, 10u);
  EXPECT_TRUE(is_row_count(Value::of_natural(uint64_t{1} << 31), rows));
  EXPECT_EQ(rows, uint64_t{1} << 31);
  EXPECT_TRUE(is_row_count(Value::of_natural(UINT64_MAX), rows));
  EXPECT_EQ(rows, uint64_t{1} << 31);
  EXPECT_FALSE(is_row_count(Value::of_integer(-1), rows));
  EXPECT_FALSE(is_row_count(Value::of("10"), rows));
  EXPECT_FALSE(is_row_count(Value::null(), rows));
}

TEST(PlanValuesTest, BeyondIsAboveEverySignedInteger) {
  EXPECT_FALSE(is_beyond(Value::of_natural(INT64_MAX)));
  EXPECT_TRUE(is_beyond(Value::of_natural(uint64_t{1} << 63)));
  EXPECT_FALSE(is_beyond(Value::of_integer(INT64_MIN)));
  EXPECT_FALSE(is_beyond(Value::of("18446744073709551615")));
}

TEST(PlanValuesTest, DecimalsAreNeitherDoublesNorTexts) {
  EXPECT_TRUE(is_decimal(Value::of_literal("2.50", Value::Spelling::decimal)));
  EXPECT_FALSE(is_decimal(Value::of_literal("2.5e1", Value::Spelling::real)));
  EXPECT_FALSE(is_decimal(Value::of("2.50")));
  EXPECT_FALSE(is_decimal(Value::of_integer(2)));
}

uint64_t hash(std::vector<Value> values) {
  return hash_of_values(values);
}

TEST(PlanValuesTest, HashesDependOnTheValuesAndTheirOrder) {
  EXPECT_EQ(hash({Value::of_integer(1), Value::of("a")}), hash({Value::of_integer(1), Value::of("a")}));
  EXPECT_NE(hash({Value::of_integer(1), Value::of_integer(2)}), hash({Value::of_integer(2), Value::of_integer(1)}));
  EXPECT_NE(hash({Value::of("a")}), hash({Value::of("b")}));
  EXPECT_NE(hash({Value::of_integer(0)}), hash({Value::of_integer(0), Value::of_integer(0)}));
}

std::string literal(const Value &value, LiteralRules rules = {}) {
  std::string text = "=";
  return append_literal(text, value, rules) ? text : "none";
}

TEST(PlanValuesTest, LiteralsAreQuotedAsTheServerReadsThem) {
  EXPECT_EQ(literal(Value::of_integer(-5)), "=-5");
  EXPECT_EQ(literal(Value::of_natural(UINT64_MAX)), "=18446744073709551615");
  EXPECT_EQ(literal(Value::of("it's")), "='it''s'");
  EXPECT_EQ(literal(Value::of("a\\'")), R"(='a\\''')");
  EXPECT_EQ(literal(Value::of("a\\"), {.backslash_escapes = false}), R"(='a\')");
  EXPECT_EQ(literal(Value::of("")), "=''");
  EXPECT_EQ(literal(Value::of_literal("1.50", Value::Spelling::decimal)), "=1.50");
  EXPECT_EQ(literal(Value::of_literal("1e3", Value::Spelling::real)), "=1e3");
}

TEST(PlanValuesTest, SomeValuesHaveNoLiteral) {
  EXPECT_EQ(literal(Value::null()), "none");
  EXPECT_EQ(literal(Value::of_literal("\x01", Value::Spelling::binary)), "none");
  EXPECT_EQ(literal(Value::of(Bytes("a\0b", 3))), "none");
  EXPECT_EQ(literal(Value::of("\xc3\xa9")), "none") << "a byte above 127 may end a character with a quote";
  EXPECT_EQ(literal(Value::of("\xc3\xa9"), {.any_byte = true}), "='\xc3\xa9'");
}

}  // namespace
}  // namespace postern::sql
