#include "engine/sql/plans/table_statistics.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(TableStatisticsTest, AreAlikeUpToTwiceAsMany) {
  const TableStatistics now{.rows = 1000, .rows_of_a_key = {10, 1}};
  EXPECT_TRUE(now.is_like(now));
  EXPECT_TRUE(now.is_like({.rows = 2000, .rows_of_a_key = {20, 2}}));
  EXPECT_TRUE(now.is_like({.rows = 500, .rows_of_a_key = {5, 1}}));
  EXPECT_FALSE(now.is_like({.rows = 2001, .rows_of_a_key = {10, 1}}));
  EXPECT_FALSE(now.is_like({.rows = 499, .rows_of_a_key = {10, 1}}));
}

TEST(TableStatisticsTest, EachPartOfAnIndexCounts) {
  const TableStatistics now{.rows = 1000, .rows_of_a_key = {10, 1}};
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {21, 1}}));
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {10, 3}}));
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {4, 1}}));
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {10, 0}}));
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {10}}));
  EXPECT_FALSE(now.is_like({.rows = 1000, .rows_of_a_key = {10, 1, 1}}));
}

TEST(TableStatisticsTest, AnEmptyTableIsLikeAnEmptyOne) {
  EXPECT_TRUE(TableStatistics().is_like({}));
  EXPECT_FALSE(TableStatistics().is_like({.rows = 1, .rows_of_a_key = {}}));
}

}  // namespace
}  // namespace postern::sql
