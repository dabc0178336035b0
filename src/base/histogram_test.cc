#include "base/histogram.h"

#include <gtest/gtest.h>

namespace postern {
namespace {

TEST(Histogram, NothingTakesNoTime) {
  EXPECT_EQ(Histogram().permille(500), 0u);
}

TEST(Histogram, TellsEachDurationToWithinAQuarter) {
  for (uint64_t value = 0; value < 60'000'000; value += value / 7 + 1) {
    Histogram histogram;
    histogram.record(value, 1);
    const uint64_t told = histogram.permille(990);
    EXPECT_GE(told, value);
    EXPECT_LE(told, value + value / 4);
  }
}

TEST(Histogram, WhatTakesLongCountsAsAMinute) {
  Histogram histogram;
  histogram.record(UINT64_MAX, 1);
  EXPECT_GT(histogram.permille(500), 60'000'000u);
}

TEST(Histogram, PartsOfAThousand) {
  Histogram histogram;
  histogram.record(1, 989);
  histogram.record(2, 10);
  histogram.record(3, 1);
  EXPECT_EQ(histogram.permille(500), 1u);
  EXPECT_EQ(histogram.permille(989), 1u);
  EXPECT_EQ(histogram.permille(990), 2u);
  EXPECT_EQ(histogram.permille(999), 2u);
  EXPECT_EQ(histogram.permille(1000), 3u);
}

TEST(Histogram, SumsAreOfAllKinds) {
  Latencies one;
  Latencies two;
  one.find.record(3, 7);
  one.edit.record(2, 1);
  two.absorb(one);
  EXPECT_EQ(two.find.permille(500), 3u);
  EXPECT_EQ(two.edit.permille(500), 2u);
  EXPECT_EQ(two.insert.permille(500), 0u);
}

}  // namespace
}  // namespace postern
