#include "engine/sql/plans/index_choice.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace postern::sql {
namespace {

using Index = TableIndexes::Index;
using Columns = std::vector<uint16_t>;

constexpr uint16_t id = 0, a = 1, b = 2, c = 3;

Index index_on(std::initializer_list<uint16_t> columns, std::vector<double> rows = {}) {
  Index index{.rows = std::move(rows)};
  for (const uint16_t column : columns) index.parts.push_back({.column = column});
  return index;
}

Index unique_on(std::initializer_list<uint16_t> columns) {
  Index index = index_on(columns);
  index.is_unique = true;
  return index;
}

/// A table with `id` as its primary key, and more indexes.
TableIndexes table_with(std::initializer_list<Index> more) {
  TableIndexes table{.indexes = {unique_on({id})}, .primary = 0};
  table.indexes.insert(table.indexes.end(), more);
  return table;
}

class IndexChoiceTest : public testing::Test {
 protected:
  std::optional<NoIndex> choose(const TableIndexes &table) { return choose_index(read, table, choice); }
  /// Adds a condition and returns its position.
  uint16_t where(uint16_t column, FormTest test = FormTest::equal, size_t values = 1) {
    read.conditions.push_back({column, test, values});
    return static_cast<uint16_t>(read.conditions.size() - 1);
  }

  IndexedRead read{.columns = {b}};
  IndexChoice choice;
};

TEST_F(IndexChoiceTest, AWholeUniqueKeyIsOneRow) {
  const uint16_t by_a = where(a);
  const uint16_t by_id = where(id);
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.way, ReadWay::one);
  EXPECT_EQ(choice.index, 0);
  EXPECT_EQ(choice.parts, Columns{by_id});
  EXPECT_EQ(choice.filters, Columns{by_a});
}

TEST_F(IndexChoiceTest, AListOfAUniqueKeyIsSeveralRows) {
  where(id, FormTest::in, 3);
  ASSERT_EQ(choose(table_with({})), std::nullopt);
  EXPECT_EQ(choice.way, ReadWay::several);
}

TEST_F(IndexChoiceTest, NullIsInAUniqueKeyMoreThanOnce) {
  where(a, FormTest::null);
  ASSERT_EQ(choose(table_with({unique_on({a})})), std::nullopt);
  EXPECT_EQ(choice.way, ReadWay::walk);
}

TEST_F(IndexChoiceTest, NoIndexFitsConditionsOnLaterPartsAlone) {
  where(b);
  EXPECT_EQ(choose(table_with({index_on({a, b})})), NoIndex::none_fits);
}

TEST_F(IndexChoiceTest, UnequalAndNotNullFindNoRows) {
  where(a, FormTest::unequal);
  where(a, FormTest::not_null);
  EXPECT_EQ(choose(table_with({index_on({a})})), NoIndex::none_fits);
}

TEST_F(IndexChoiceTest, ARangeIsOnThePartAfterTheEqualOnes) {
  const uint16_t below = where(b, FormTest::less);
  const uint16_t equal = where(a);
  const uint16_t from = where(b, FormTest::at_least);
  const uint16_t other = where(c, FormTest::greater);
  ASSERT_EQ(choose(table_with({index_on({a, b, c})})), std::nullopt);
  EXPECT_EQ(choice.way, ReadWay::walk);
  EXPECT_EQ(choice.parts, Columns{equal});
  EXPECT_EQ(choice.range, (Columns{from, below}));
  EXPECT_EQ(choice.filters, Columns{other});
}

TEST_F(IndexChoiceTest, APrefixIsARangeWhereThereIsNoOther) {
  const uint16_t prefix = where(a, FormTest::like);
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.range, Columns{prefix});
  const uint16_t from = where(a, FormTest::at_least);
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.range, Columns{from});
  EXPECT_EQ(choice.filters, Columns{prefix});
}

TEST_F(IndexChoiceTest, AListEndsAWalk) {
  const uint16_t list = where(a, FormTest::in, 2);
  const uint16_t later = where(b);
  ASSERT_EQ(choose(table_with({index_on({a, b, c})})), std::nullopt);
  EXPECT_EQ(choice.parts, Columns{list});
  EXPECT_EQ(choice.filters, Columns{later});
}

TEST_F(IndexChoiceTest, RowsInAListNeedAllTheirColumnsInTheIndex) {
  where(a, FormTest::tuple, 2);
  where(b, FormTest::tuple, 2);
  EXPECT_EQ(choose(table_with({index_on({a, c}), unique_on({a})})), NoIndex::none_fits);
  ASSERT_EQ(choose(table_with({unique_on({b, a})})), std::nullopt);
  EXPECT_EQ(choice.way, ReadWay::several);
  EXPECT_EQ(choice.parts, (Columns{1, 0}));
}

TEST_F(IndexChoiceTest, NeitherPrefixesNorDescendingPartsNorIgnoredIndexesServe) {
  where(a);
  Index prefix = index_on({a}), down = index_on({a}), ignored = index_on({a}), forbidden = index_on({a});
  prefix.parts[0].is_prefix = down.parts[0].is_down = true;
  ignored.is_plain = forbidden.is_allowed = false;
  EXPECT_EQ(choose(table_with({prefix, down, ignored, forbidden})), NoIndex::none_fits);
  ASSERT_EQ(choose(table_with({prefix, down, ignored, forbidden, index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.index, 5);
}

TEST_F(IndexChoiceTest, MoreKnownPartsWinWithoutStatistics) {
  where(a);
  where(b);
  ASSERT_EQ(choose(table_with({index_on({a}), index_on({a, b, c}), index_on({b})})), std::nullopt);
  EXPECT_EQ(choice.index, 2);
}

TEST_F(IndexChoiceTest, StatisticsWinWhereTheySayMuch) {
  where(a);
  where(b);
  // Two parts with 400 rows against one part with 90: it would have to be four times fewer.
  ASSERT_EQ(choose(table_with({index_on({a, b}, {1'000, 400}), index_on({b}, {90})})), std::nullopt);
  EXPECT_EQ(choice.index, 2);
  ASSERT_EQ(choose(table_with({index_on({a, b}, {1'000, 400}), index_on({b}, {110})})), std::nullopt);
  EXPECT_EQ(choice.index, 1);
}

TEST_F(IndexChoiceTest, AnIndexForTheOrderIsNotTakenWhereAnotherReadsFarFewerRows) {
  where(a);
  where(b);
  read.order = {{.column = c}};
  EXPECT_EQ(choose(table_with({index_on({a, c}, {1'000, 1}), index_on({b}, {10})})), NoIndex::other_is_better);
  // Sixteen rows are few, whatever another index reads.
  EXPECT_EQ(choose(table_with({index_on({a, c}, {15, 1}), index_on({b}, {1})})), std::nullopt);
}

TEST_F(IndexChoiceTest, AWalkThatALimitEndsMayReadMoreThanAnotherIndexWould) {
  where(a);
  read.order = {{.column = c}};
  read.has_limit = true;
  EXPECT_EQ(choose(table_with({index_on({a, c}, {1'000, 1}), index_on({a}, {10})})), std::nullopt);
  where(b);  // of which the walk may meet few
  EXPECT_EQ(choose(table_with({index_on({a, c}, {1'000, 1}), index_on({b}, {10})})), NoIndex::other_is_better);
}

TEST_F(IndexChoiceTest, TheOrderGoesOnWithThePrimaryKey) {
  where(a);
  read.order = {{.column = id, .descending = true}};
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.index, 1);
  EXPECT_TRUE(choice.backwards);
  EXPECT_TRUE(choice.ordered);
  EXPECT_FALSE(choice.ties);
}

/// InnoDB stores the primary key's columns in every index, in the primary key's directions.
TEST_F(IndexChoiceTest, TheHiddenPrimaryKeyOfAnIndexGoesDownWhereThePrimaryKeyDoes) {
  where(a);
  read.order = {{.column = id}};
  TableIndexes table = table_with({index_on({a})});
  table.indexes[0].parts[0].is_down = true;
  ASSERT_EQ(choose(table), std::nullopt);
  EXPECT_TRUE(choice.backwards);
}

TEST_F(IndexChoiceTest, AnOrderOfTwoDirectionsIsNoWalk) {
  where(a);
  read.order = {{.column = b}, {.column = c, .descending = true}};
  EXPECT_EQ(choose(table_with({index_on({a, b, c})})), NoIndex::none_fits);
  read.order[0].descending = true;
  EXPECT_EQ(choose(table_with({index_on({a, b, c})})), std::nullopt);
}

TEST_F(IndexChoiceTest, ColumnsThatAreFixedDoNotMatterToTheOrder) {
  where(a);
  where(b);
  read.order = {{.column = b, .descending = true}, {.column = c}};
  ASSERT_EQ(choose(table_with({index_on({a, b, c})})), std::nullopt);
  EXPECT_FALSE(choice.backwards);
}

TEST_F(IndexChoiceTest, AnOrderWithoutAUniqueKeyMayTie) {
  where(a);
  read.order = {{.column = b}};
  ASSERT_EQ(choose(table_with({index_on({a, b})})), std::nullopt);
  EXPECT_TRUE(choice.ties);
  ASSERT_EQ(choose(table_with({unique_on({a, b, c}), unique_on({a, b})})), std::nullopt);
  EXPECT_FALSE(choice.ties);
  Index with_nulls = unique_on({a, b});
  with_nulls.may_be_null = true;
  ASSERT_EQ(choose(table_with({with_nulls, index_on({a, b, c})})), std::nullopt);
  EXPECT_TRUE(choice.ties);
}

TEST_F(IndexChoiceTest, AKeyWithBlanksThatNobodySeesGivesNoOrder) {
  where(a);
  read.order = {{.column = b}};
  TableIndexes table = table_with({index_on({a, b})});
  table.blank_padded = {b};
  EXPECT_EQ(choose(table), NoIndex::none_fits);
}

TEST_F(IndexChoiceTest, AnOrderWithoutConditionsNeedsALimit) {
  read.order = {{.column = a}};
  EXPECT_EQ(choose(table_with({index_on({a})})), NoIndex::none_fits);
  read.has_limit = true;
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choice.index, 1);
}

TEST_F(IndexChoiceTest, WithoutAnOrderAWalkHasTheServersOnlyWhereNoOtherIndexMightServe) {
  where(a);
  read.columns = {c};
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_TRUE(choice.ordered);
  // Another index that begins with a column of a condition.
  ASSERT_EQ(choose(table_with({index_on({a}), index_on({a, b})})), std::nullopt);
  EXPECT_FALSE(choice.ordered);
  // Another index with all columns, which the server may walk.
  ASSERT_EQ(choose(table_with({index_on({a}), index_on({c, a})})), std::nullopt);
  EXPECT_FALSE(choice.ordered);
  // The range of an index other than the table's.
  read.conditions = {{a, FormTest::greater, 1}};
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_FALSE(choice.ordered);
}

TEST_F(IndexChoiceTest, CountsHaveNoOrder) {
  where(a, FormTest::greater);
  read.counts = true;
  ASSERT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_TRUE(choice.ordered);
}

TEST_F(IndexChoiceTest, PartitionsAreNotWalked) {
  where(a);
  TableIndexes table = table_with({index_on({a})});
  table.is_partitioned = true;
  EXPECT_EQ(choose(table), NoIndex::of_partitions);
  where(id);
  EXPECT_EQ(choose(table), std::nullopt);
}

TEST_F(IndexChoiceTest, LocksAreForWalksThatMeetWantedRowsOnly) {
  where(a);
  read.locks = true;
  EXPECT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  where(b);  // a filter
  EXPECT_EQ(choose(table_with({index_on({a})})), NoIndex::locks_others);
  read.conditions = {{a, FormTest::like, 1}};
  EXPECT_EQ(choose(table_with({index_on({a})})), NoIndex::locks_others);
  read.conditions = {{id, FormTest::equal, 1}, {b, FormTest::unequal, 1}};
  EXPECT_EQ(choose(table_with({index_on({a})})), std::nullopt);
}

TEST_F(IndexChoiceTest, NothingIsLockedWhereAnotherIndexMayServeOrTheOrderIsUnsure) {
  read.locks = true;
  read.columns = {id, c};
  where(id, FormTest::in, 2);
  EXPECT_EQ(choose(table_with({index_on({a})})), std::nullopt);
  EXPECT_EQ(choose(table_with({index_on({id, b})})), NoIndex::locks_others);
  EXPECT_EQ(choose(table_with({index_on({c})})), NoIndex::locks_others);  // which has all columns
  read.conditions = {{a, FormTest::in, 2}};
  EXPECT_EQ(choose(table_with({index_on({a})})), NoIndex::locks_others);
  read.conditions = {{id, FormTest::equal, 1}};
  EXPECT_EQ(choose(table_with({index_on({id, b})})), std::nullopt);
}

TEST_F(IndexChoiceTest, NothingIsLockedWhereAnEqualityMayBeContradicted) {
  read.locks = true;
  where(id);
  where(b, FormTest::greater);
  where(b, FormTest::less);
  EXPECT_EQ(choose(table_with({})), std::nullopt);
  where(b, FormTest::in, 1);
  EXPECT_EQ(choose(table_with({})), NoIndex::locks_others);
}

class OtherWalksTest : public IndexChoiceTest {
 protected:
  bool find(const TableIndexes &table) {
    others.clear();
    return choose(table) == std::nullopt && find_others(read, table, choice, others);
  }
  std::vector<IndexChoice> others;
};

TEST_F(OtherWalksTest, ThereIsNoneWithoutConditionsOnOtherIndexes) {
  where(a);
  where(c, FormTest::unequal);
  EXPECT_TRUE(find(table_with({index_on({a}), index_on({b, c})})));
  EXPECT_TRUE(others.empty());
}

TEST_F(OtherWalksTest, EachHasTheConditionsThatItDoesNotUseAsFilters) {
  const uint16_t by_a = where(a);
  const uint16_t by_b = where(b);
  const uint16_t below = where(c, FormTest::less);
  ASSERT_TRUE(find(table_with({index_on({a}), index_on({b, c})})));
  EXPECT_EQ(choice.index, 2);
  ASSERT_EQ(others.size(), 1);
  EXPECT_EQ(others[0].index, 1);
  EXPECT_EQ(others[0].parts, Columns{by_a});
  EXPECT_EQ(others[0].filters, (Columns{by_b, below}));
}

TEST_F(OtherWalksTest, TheServerMayUseAConditionOnThePrimaryKeyWithEachIndex) {
  where(a);
  where(id, FormTest::greater);
  EXPECT_FALSE(find(table_with({index_on({a})})));
  EXPECT_FALSE(find(table_with({index_on({a}), index_on({b})})));
  TableIndexes table = table_with({index_on({a})});
  table.indexes[*table.primary].is_allowed = false;
  EXPECT_FALSE(find(table));
}

TEST_F(OtherWalksTest, ARowOfThePrimaryKeyIsWeighedAgainstIndexesThatItDoesNotBound) {
  where(id);
  EXPECT_TRUE(find(table_with({index_on({a})})));
  EXPECT_TRUE(others.empty());
  where(a);
  EXPECT_TRUE(find(table_with({index_on({a, b})})));
  EXPECT_EQ(others.size(), 1);
  EXPECT_FALSE(find(table_with({index_on({a})})));
  where(b, FormTest::greater);
  EXPECT_TRUE(find(table_with({index_on({a, b, c})})));
  EXPECT_FALSE(find(table_with({index_on({a, b})})));
}

TEST_F(OtherWalksTest, ConditionsOnAColumnOfAnyIndexMayContradict) {
  const auto may = [this](const TableIndexes &table) {
    EXPECT_EQ(choose(table), std::nullopt);
    return may_contradict(read, table, choice);
  };
  where(id);
  where(b, FormTest::at_least);
  EXPECT_FALSE(may(table_with({index_on({a, b})})));
  where(b, FormTest::at_most);
  EXPECT_TRUE(may(table_with({index_on({a, b})})));
  EXPECT_FALSE(may(table_with({index_on({a, c})})));
  read.conditions[0].column = a;
  EXPECT_FALSE(may(table_with({index_on({a, b})})));
  where(b, FormTest::unequal);
  EXPECT_TRUE(may(table_with({index_on({a, b})})));
}

TEST_F(OtherWalksTest, TheServerUsesMoreOfAnIndexThanAWalkDoes) {
  where(a, FormTest::in, 2);
  where(b);
  EXPECT_FALSE(find(table_with({index_on({a, b, c})})));
  read.conditions.clear();
  where(a);
  where(a, FormTest::greater);
  EXPECT_FALSE(find(table_with({index_on({a})})));
  read.conditions.clear();
  where(a, FormTest::greater);
  where(b);
  EXPECT_FALSE(find(table_with({index_on({a, b})})));
  EXPECT_TRUE(find(table_with({index_on({a, c})})));
}

TEST_F(OtherWalksTest, AnIndexWhoseRowsNobodyCountsIsInTheWay) {
  for (const FormTest test : {FormTest::unequal, FormTest::not_null, FormTest::like}) {
    read.conditions.clear();
    where(a);
    where(b, test);
    EXPECT_FALSE(find(table_with({index_on({a}), index_on({b})})));
    EXPECT_TRUE(find(table_with({index_on({a}), index_on({c, b})})));
  }
  read.conditions.clear();
  where(a);
  where(b);
  Index prefix = index_on({b});
  prefix.parts[0].is_prefix = true;
  EXPECT_TRUE(find(table_with({index_on({a}), prefix})));
  EXPECT_EQ(others.size(), 1);
  read.conditions[1].test = FormTest::greater;
  EXPECT_FALSE(find(table_with({index_on({a}), prefix})));
  prefix.parts[0] = {.column = b, .is_down = true};
  read.conditions[1].test = FormTest::equal;
  EXPECT_FALSE(find(table_with({index_on({a}), prefix})));
}

}  // namespace
}  // namespace postern::sql
