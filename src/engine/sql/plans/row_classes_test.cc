#include "engine/sql/plans/row_classes.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

constexpr uint64_t draft = 0x1111'1111'1111'1101;
constexpr uint64_t published = 0x2222'2222'2222'2202;
constexpr uint64_t unknown = 0x3333'3333'3333'3303;

TEST(RowClassesTest, NothingIsKnownOfAFormWithOnePlan) {
  RowClasses classes;
  classes.note(draft, "");
  EXPECT_EQ(classes.of(draft), "");
  EXPECT_EQ(classes.of(published), "");
}

TEST(RowClassesTest, ValuesHaveTheClassesThatTheyHad) {
  RowClasses classes;
  classes.note(published, "e");
  classes.note(draft, "ab");
  EXPECT_EQ(classes.of(published), "e");
  EXPECT_EQ(classes.of(draft), "ab");
  classes.note(published, "aaq");
  EXPECT_EQ(classes.of(published), "aaq");
}

TEST(RowClassesTest, OthersHaveThoseOfTheLastOnes) {
  RowClasses classes;
  classes.note(published, "e");
  EXPECT_EQ(classes.of(unknown), "e");
  classes.note(draft, "");
  EXPECT_EQ(classes.of(unknown), "");
  EXPECT_EQ(classes.of(published), "e");
  EXPECT_EQ(classes.of(draft), "");
}

TEST(RowClassesTest, ValuesOfOnePlaceAreToldApart) {
  RowClasses classes;
  const uint64_t other = published + (uint64_t{32} << 32U);
  classes.note(published, "e");
  classes.note(other, "a");
  EXPECT_EQ(classes.of(other), "a");
  classes.note(draft, "c");
  EXPECT_EQ(classes.of(published), "c");  // its place was reused: as for unknown values
}

}  // namespace
}  // namespace postern::sql
