#include "engine/sql/wait_budget.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(WaitBudget, IsSharedByAllWaits) {
  WaitBudget budget;
  budget.allow(5);
  EXPECT_EQ(budget.begin(1'000'000), 5'000);
  EXPECT_FALSE(budget.is_used_up(1'001'000));
  budget.end(1'002'000);
  EXPECT_EQ(budget.begin(2'000'000), 3'000);
  EXPECT_FALSE(budget.is_used_up(2'002'999));
  EXPECT_TRUE(budget.is_used_up(2'003'000));
}

TEST(WaitBudget, HasNothingLeftAfterAWaitThatTookTooLong) {
  WaitBudget budget;
  budget.allow(1);
  budget.begin(0);
  budget.end(20'000);
  EXPECT_LT(budget.begin(30'000), 0);
  EXPECT_TRUE(budget.is_used_up(30'000));
  budget.allow(1);
  EXPECT_EQ(budget.begin(40'000), 1'000);
}

TEST(WaitBudget, GrowsToTheAllowedWaitAtLeast) {
  WaitBudget budget;
  budget.allow(5);
  budget.allow_at_least(50);
  EXPECT_EQ(budget.begin(0), 50'000);
  budget.allow(100);
  budget.allow_at_least(50);
  EXPECT_EQ(budget.begin(0), 100'000);
}

TEST(WaitBudget, AllowsNothingAtFirst) {
  WaitBudget budget;
  EXPECT_EQ(budget.begin(7), 0);
  EXPECT_TRUE(budget.is_used_up(7));
}

}  // namespace
}  // namespace postern::sql
