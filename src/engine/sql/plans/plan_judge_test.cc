#include "engine/sql/plans/plan_judge.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

using Verdict = PlanJudge::Verdict;

/// Executes the statement, by the server if the judge leaves it, until a verdict is not good; returns the last one.
Verdict execute(PlanJudge &judge, int times, uint64_t ours, uint64_t servers) {
  Verdict verdict = Verdict::good;
  for (int i = 0; i < times && verdict == Verdict::good; ++i) {
    if (judge.leaves_next()) judge.note_server(servers);
    else verdict = judge.note_answered(ours);
  }
  return verdict;
}

TEST(PlanJudgeTest, NoServerIsAskedForFewRows) {
  PlanJudge judge;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(judge.note_answered(64), Verdict::good);
    EXPECT_FALSE(judge.leaves_next());
  }
}

TEST(PlanJudgeTest, APlanThatReadsMoreThanAFewRowsIsComparedOnceIn32) {
  PlanJudge judge;
  judge.note_server(1'000);
  int left = 0;
  for (int i = 0; i < 320; ++i) {
    EXPECT_EQ(judge.note_answered(1'000), Verdict::good);
    left += judge.leaves_next() ? 1 : 0;
  }
  EXPECT_EQ(left, 10);
}

TEST(PlanJudgeTest, APlanIsAskedForOneLeftStatementAtATime) {
  PlanJudge judge;
  judge.note_server(1'000);
  judge.note_answered(1'000);
  EXPECT_TRUE(judge.leaves_next());
  EXPECT_FALSE(judge.leaves_next());
}

TEST(PlanJudgeTest, APlanWithAboutTheServersRowsStays) {
  PlanJudge judge;
  EXPECT_EQ(execute(judge, 10'000, 3'900, 1'000), Verdict::good);
}

TEST(PlanJudgeTest, APlanThatReadsManyTimesTheServersRowsIsPlannedAnewOnceAndThenGivenBack) {
  PlanJudge judge;
  EXPECT_EQ(execute(judge, 100, 50'000, 1'000), Verdict::plan_anew);
  EXPECT_EQ(execute(judge, 100, 50'000, 1'000), Verdict::give_back);
}

TEST(PlanJudgeTest, TheServerIsAskedTwelveTimesBeforeAPlanIsGivenUp) {
  PlanJudge judge;
  judge.note_server(1'000);
  int asked = 0;
  while (judge.note_answered(50'000) == Verdict::good) {
    asked += judge.leaves_next() ? 1 : 0;
    judge.note_server(1'000);
  }
  EXPECT_EQ(asked, 12);
}

TEST(PlanJudgeTest, OneHeavyExecutionAmongManyLightOnesIsNoReason) {
  PlanJudge judge;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(judge.note_answered(i % 100 == 99 ? 300 : 1), Verdict::good);
    if (judge.leaves_next()) judge.note_server(1);
  }
}

TEST(PlanJudgeTest, OneInEightUndoneIsTooMany) {
  PlanJudge judge;
  for (int i = 0; i < 64; ++i) judge.note_answered(1);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(judge.note_undone(), Verdict::good);
  EXPECT_EQ(judge.note_undone(), Verdict::plan_anew);
  // Counted from the beginning.
  for (int i = 0; i < 7; ++i) EXPECT_EQ(judge.note_undone(), Verdict::good);
  EXPECT_EQ(judge.note_undone(), Verdict::give_back);
}

TEST(PlanJudgeTest, FewerAreUndoneWithoutAnEnd) {
  PlanJudge judge;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 9; ++j) judge.note_answered(1);
    EXPECT_EQ(judge.note_undone(), Verdict::good);
  }
}

TEST(PlanJudgeTest, TheLastSixteenHeavyValuesAreRemembered) {
  PlanJudge judge;
  EXPECT_FALSE(judge.is_heavy(0));
  for (uint64_t values = 1; values <= 17; ++values) judge.note_heavy(values);
  EXPECT_FALSE(judge.is_heavy(1));
  for (uint64_t values = 2; values <= 17; ++values) EXPECT_TRUE(judge.is_heavy(values)) << values;
}

}  // namespace
}  // namespace postern::sql
