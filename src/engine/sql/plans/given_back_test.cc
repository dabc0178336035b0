#include "engine/sql/plans/given_back.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(GivenBack, IsForTwiceAsManyStatementsEachTime) {
  GivenBack forms;
  uint64_t expected = 64;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(forms.note(7), expected);
    expected = expected == 4096 ? expected : 2 * expected;
  }
  EXPECT_EQ(expected, 4096);
}

TEST(GivenBack, FormsAreApart) {
  GivenBack forms;
  for (uint64_t form = 1; form < 200; ++form) EXPECT_EQ(forms.note(form), 64);
  EXPECT_EQ(forms.note(7), 128);
  EXPECT_EQ(forms.note(8), 128);
}

TEST(GivenBack, OneMayTakeThePlaceOfAnother) {
  GivenBack forms;
  forms.note(7);
  EXPECT_EQ(forms.note(7 + 256), 64);
  EXPECT_EQ(forms.note(7), 64);
}

}  // namespace
}  // namespace postern::sql
