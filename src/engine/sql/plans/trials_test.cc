#include "engine/sql/plans/trials.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

void note(Trials &trials, int times, int32_t cost) {
  for (int i = 0; i < times; ++i) trials.note(cost);
}

TEST(TrialsTest, APlanRestsAfterEightTrialsInVain) {
  Trials trials;
  note(trials, 7, Trials::cost_usual);
  EXPECT_FALSE(trials.rest());
  trials.note(Trials::cost_usual);
  EXPECT_TRUE(trials.rest());
}

TEST(TrialsTest, SuccessesMakeUpForTrialsInVain) {
  Trials trials;
  for (int i = 0; i < 100; ++i) {
    note(trials, 2, Trials::cost_usual);
    trials.note(-2 * Trials::cost_usual);
  }
  note(trials, 7, Trials::cost_usual);
  EXPECT_FALSE(trials.rest());
}

TEST(TrialsTest, ManySuccessesSaveNothingUp) {
  Trials trials;
  note(trials, 1000, -2 * Trials::cost_usual);
  note(trials, 8, Trials::cost_usual);
  EXPECT_TRUE(trials.rest());
}

TEST(TrialsTest, TrialsThatCostNothingCountForNothing) {
  Trials trials;
  note(trials, 1000, 0);
  note(trials, 7, Trials::cost_usual);
  note(trials, 1000, 0);
  EXPECT_FALSE(trials.rest());
  trials.note(Trials::cost_usual);
  EXPECT_TRUE(trials.rest());
}

TEST(TrialsTest, CheapTrialsMayBeInVainMoreOften) {
  Trials trials;
  // One in ten fails, which costs 8, and a success takes off 1: never.
  for (int i = 0; i < 1000; ++i) {
    trials.note(8);
    note(trials, 9, -1);
  }
  EXPECT_FALSE(trials.rest());
  // One in five fails.
  for (int i = 0; i < 100; ++i) {
    trials.note(8);
    note(trials, 4, -1);
  }
  EXPECT_TRUE(trials.rest());
}

TEST(TrialsTest, ARestEndsWhenEverythingIsDifferent) {
  Trials trials;
  note(trials, 2, Trials::cost_max / 2);
  ASSERT_TRUE(trials.rest());
  trials.begin_anew();
  EXPECT_FALSE(trials.rest());
  note(trials, 7, Trials::cost_usual);
  EXPECT_FALSE(trials.rest());
}

TEST(TrialsTest, SuccessesOfThoseThatBeganBeforeEndARest) {
  Trials trials;
  note(trials, 8, Trials::cost_usual);
  ASSERT_TRUE(trials.rest());
  note(trials, 3, -2 * Trials::cost_usual);
  EXPECT_FALSE(trials.rest());
}

TEST(TrialsTest, OneStatementInSixteenIsLookedAtMeanwhile) {
  Trials trials;
  int looks = 0;
  for (int i = 0; i < 160; ++i) looks += trials.looks() ? 1 : 0;
  EXPECT_EQ(10, looks);
}

}  // namespace
}  // namespace postern::sql
