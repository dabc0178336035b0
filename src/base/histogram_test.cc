#include "base/histogram.h"

#include <gtest/gtest.h>

namespace postern {
namespace {

TEST(Histogram, NothingTakesNoTime) {
  EXPECT_EQ(Histogram().permille(500), 0u);
}

TEST(Histogram, MeasuresEachDurationToWithinAQuarter) {
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
  one.statement.record(1, 1);
  two.absorb(one);
  EXPECT_EQ(two.find.permille(500), 3u);
  EXPECT_EQ(two.edit.permille(500), 2u);
  EXPECT_EQ(two.insert.permille(500), 0u);
  EXPECT_EQ(two.statement.permille(500), 1u);
  two.clear();
  EXPECT_EQ(two.find.permille(500), 0u);
  EXPECT_EQ(two.statement.permille(500), 0u);
}

uint64_t median_of_finds(const RecentLatencies &recent, int64_t minute) {
  Latencies sum;
  recent.add_to(sum, minute);
  return sum.find.permille(500);
}

TEST(RecentLatencies, AreThoseOfThisMinuteAndTheOneBefore) {
  RecentLatencies recent;
  EXPECT_EQ(median_of_finds(recent, 0), 0u);
  recent.of(100).find.record(3, 10);
  EXPECT_EQ(median_of_finds(recent, 100), 3u);
  recent.of(101).find.record(1, 20);
  EXPECT_EQ(median_of_finds(recent, 101), 1u);
  recent.of(101).find.record(3, 20);
  EXPECT_EQ(median_of_finds(recent, 101), 3u);
  recent.of(102).find.record(2, 1);
  EXPECT_EQ(median_of_finds(recent, 102), 2u);  // of 20 times 1, once 2, 20 times 3
  EXPECT_EQ(median_of_finds(recent, 103), 2u);  // nothing came since
  EXPECT_EQ(median_of_finds(recent, 104), 0u);
  recent.of(204).find.record(1, 1);
  EXPECT_EQ(median_of_finds(recent, 204), 1u);
}

}  // namespace
}  // namespace postern
