#include "engine/sql/scan_control.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(TurnShare, BoundsOneFind) {
  TurnShare share;
  EXPECT_FALSE(share.has_had_rows(limits::find_rows_fast_max));
  EXPECT_TRUE(share.has_had_rows(limits::find_rows_fast_max + 1));
}

TEST(TurnShare, BoundsAllFindsOfARunTogether) {
  TurnShare share;
  share.take_rows(limits::batch_rows_max - 1);
  EXPECT_FALSE(share.has_had_rows(1));
  EXPECT_TRUE(share.has_had_rows(2));
  share.begin_run();
  EXPECT_FALSE(share.has_had_rows(2));
}

TEST(TurnShare, TakesLargeRowsUntilThereHaveBeenEnough) {
  TurnShare share;
  EXPECT_TRUE(share.take_large_row(limits::batch_large_bytes_max));
  EXPECT_FALSE(share.has_had_large_rows());
  EXPECT_TRUE(share.take_large_row(1));
  EXPECT_TRUE(share.has_had_large_rows());
  EXPECT_FALSE(share.take_large_row(1));
  share.begin_run();
  EXPECT_TRUE(share.take_large_row(1));
}

TEST(LookTimer, IsDueOnceEverySoManyRows) {
  LookTimer timer;
  uint64_t looks = 0;
  for (uint64_t examined = 1; examined <= 10 * limits::rows_between_looks; ++examined) looks += timer.is_due(examined);
  EXPECT_EQ(looks, 10u);
}

TEST(LookTimer, CountsOnFromWhereItWasAsked) {
  LookTimer timer;
  EXPECT_TRUE(timer.is_due(5 * limits::rows_between_looks));
  EXPECT_FALSE(timer.is_due(6 * limits::rows_between_looks - 1));
  EXPECT_TRUE(timer.is_due(6 * limits::rows_between_looks));
}

}  // namespace
}  // namespace postern::sql
