// executor_finds_suite.h: the promises of executor.h about which rows are found.
#pragma once

#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class ExecutorFinds : public ExecutorTest<Fixture> {};

TYPED_TEST_SUITE_P(ExecutorFinds);

TYPED_TEST_P(ExecutorFinds, FindsByEveryComparison) {
  TableSlot &slot = this->opened();
  using Rows = std::vector<std::string>;
  const auto rows = [&](std::string_view value, Comparison comparison) {
    const HeardReply &reply = this->find(slot, this->key(value, comparison, 3));
    this->run_all();
    return reply.firsts();
  };
  EXPECT_EQ(rows("50", Comparison::equal), (Rows{"50"}));
  EXPECT_EQ(rows("50", Comparison::greater), (Rows{"51", "52", "53"}));
  EXPECT_EQ(rows("50", Comparison::at_least), (Rows{"50", "51", "52"}));
  EXPECT_EQ(rows("50", Comparison::less), (Rows{"49", "48", "47"}));
  EXPECT_EQ(rows("50", Comparison::at_most), (Rows{"50", "49", "48"}));
  EXPECT_EQ(rows("0", Comparison::equal), Rows{});
  EXPECT_EQ(rows("99", Comparison::greater), (Rows{"100"}));
  EXPECT_EQ(rows("99999999999", Comparison::equal), Rows{});
  EXPECT_EQ(rows("99999999999", Comparison::at_least), Rows{});
  EXPECT_EQ(rows("99999999999", Comparison::at_most), (Rows{"100", "99", "98"}));
  EXPECT_EQ(rows("-99999999999", Comparison::at_least), (Rows{"1", "2", "3"}));
}

TYPED_TEST_P(ExecutorFinds, NullIsAKeyAndSortsFirst) {
  TableSlot &slot = this->opened({"contract", "t", "n", {"id"}});
  const Value null[] = {Value::null()};
  HeardReply &equal = this->find(slot, {.key = null, .limit = 100});
  HeardReply &greater = this->find(slot, {.comparison = Comparison::greater, .key = null, .limit = 2});
  HeardReply &at_least = this->find(slot, {.comparison = Comparison::at_least, .key = null, .limit = 15, .offset = 13});
  HeardReply &less = this->find(slot, {.comparison = Comparison::less, .key = null, .limit = 100});
  this->run_all();
  EXPECT_EQ(equal.rows.size(), 14u);
  EXPECT_EQ(equal.firsts().front(), "7");
  EXPECT_EQ(greater.firsts(), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(at_least.firsts().front(), "98");
  EXPECT_EQ(at_least.firsts()[1], "1");
  EXPECT_TRUE(less.rows.empty());
}

TYPED_TEST_P(ExecutorFinds, NoKeyAtAllFindsEveryRow) {
  using Rows = std::vector<std::string>;
  TableSlot &slot = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", {"n"}});
  const auto all = [this](TableSlot &through, Comparison comparison, uint64_t limit) -> HeardReply & {
    return this->find(through, {.comparison = comparison, .limit = limit});
  };
  HeardReply &up = all(slot, Comparison::at_least, 3);
  HeardReply &down = all(slot, Comparison::at_most, 3);
  HeardReply &every = all(slot, Comparison::at_least, 1'000'000);
  HeardReply &nulls_first = all(by_n, Comparison::at_least, 15);
  HeardReply &nulls_last = all(by_n, Comparison::at_most, 100);
  this->run_all();
  EXPECT_EQ(up.firsts(), (Rows{"1", "2", "3"}));
  EXPECT_EQ(down.firsts(), (Rows{"100", "99", "98"}));
  EXPECT_EQ(every.rows.size(), 100u);
  EXPECT_EQ(nulls_first.firsts()[13], "NULL");
  EXPECT_EQ(nulls_first.firsts()[14], "0");
  EXPECT_EQ(nulls_last.firsts().front(), "10");
  EXPECT_EQ(nulls_last.firsts().back(), "NULL");
  for (const Comparison comparison : {Comparison::equal, Comparison::greater, Comparison::less}) {
    HeardReply &refused = all(slot, comparison, 1);
    this->run_all();
    EXPECT_EQ(refused.failure, Failure::no_key_values);
  }
}

TYPED_TEST_P(ExecutorFinds, LimitAndOffsetCountWhatPassesTheFilters) {
  TableSlot &slot = this->opened();
  const Filter in_the_thirties[] = {{.comparison = Comparison::equal, .column = 0, .value = Value::of("3")}};
  Find find = this->key("1", Comparison::at_least, 3);
  find.filters = in_the_thirties;
  find.offset = 2;
  HeardReply &reply = this->find(slot, find);
  this->run_all();
  EXPECT_EQ(reply.firsts(), (std::vector<std::string>{"32", "33", "34"}));
}

TYPED_TEST_P(ExecutorFinds, FiltersSkipStopAndKnowNull) {
  TableSlot &slot = this->opened();
  const auto rows = [&](Filter filter, uint64_t limit) {
    Find find = this->key("1", Comparison::at_least, limit);
    find.filters = {&filter, 1};
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    return reply.firsts();
  };
  using Rows = std::vector<std::string>;
  using enum Comparison;
  constexpr auto stop = Filter::Miss::stop;
  EXPECT_EQ(rows({.comparison = equal, .value = Value::null()}, 2), (Rows{"7", "14"}));
  EXPECT_EQ(rows({.comparison = unequal, .value = Value::null()}, 7), (Rows{"1", "2", "3", "4", "5", "6", "8"}));
  EXPECT_EQ(rows({.comparison = less, .value = Value::of("0")}, 2), (Rows{"7", "14"}));
  EXPECT_EQ(rows({.comparison = at_least, .value = Value::of("9")}, 3), (Rows{"90", "92", "93"}));
  EXPECT_EQ(rows({.comparison = never, .value = Value::of("1")}, 3), Rows{});
  EXPECT_EQ(rows({.miss = stop, .comparison = unequal, .value = Value::null()}, 100),
            (Rows{"1", "2", "3", "4", "5", "6"}));
}

TYPED_TEST_P(ExecutorFinds, InListsReadEveryRowOfEachOrTheFirst) {
  TableSlot &by_id = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", {"id"}});
  const Value no_number[] = {Value::of("no number")};
  const Value ids[] = {Value::of("20"), Value::of("1000"), Value::of("3"), Value::of("20")};
  HeardReply &exact = this->find(by_id, {.key = no_number, .in_list = ids, .limit = 100});
  HeardReply &bounded = this->find(by_id, {.key = no_number, .in_list = ids, .limit = 1, .offset = 1});
  HeardReply &first =
      this->find(by_id, {.comparison = Comparison::greater, .key = no_number, .in_list = ids, .limit = 100});
  const Value tens[] = {Value::of("10"), Value::null(), Value::of("0")};
  HeardReply &groups = this->find(by_n, {.key = no_number, .in_list = tens, .limit = 100});
  this->run_all();
  EXPECT_EQ(exact.firsts(), (std::vector<std::string>{"20", "3", "20"}));
  EXPECT_EQ(bounded.firsts(), (std::vector<std::string>{"3"}));
  EXPECT_EQ(first.firsts(), (std::vector<std::string>{"21", "4", "21"}));
  ASSERT_EQ(groups.rows.size(), 1u + 14u + 8u);
  EXPECT_EQ(groups.firsts().front(), "100");
  EXPECT_EQ(groups.firsts().back(), "9");
}

TYPED_TEST_P(ExecutorFinds, FindsFailEachInItsWay) {
  TableSlot &slot = this->opened();
  const auto failure_of = [&](const Find &find) {
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    EXPECT_TRUE(reply.rows.empty());
    return reply.failure;
  };
  const Value two[] = {Value::of("1"), Value::of("2")};
  EXPECT_EQ(failure_of({.key = two}), Failure::too_many_key_parts);
  const Filter unknown[] = {{.column = 1}};
  Find find = this->key("1");
  find.filters = unknown;
  EXPECT_EQ(failure_of(find), Failure::no_filter_column);
}

TYPED_TEST_P(ExecutorFinds, TextIsTheNumberItBeginsWithInRanges) {
  using Rows = std::vector<std::string>;
  using enum Comparison;
  TableSlot &slot = this->opened();
  const auto rows = [&](std::string_view key, Comparison comparison) {
    const HeardReply &reply = this->find(slot, this->key(key, comparison, 2));
    this->run_all();
    EXPECT_EQ(reply.failure, Failure::none) << key;
    return reply.firsts();
  };
  EXPECT_EQ(rows("", at_least), (Rows{"1", "2"}));
  EXPECT_EQ(rows("no number", greater), (Rows{"1", "2"}));
  EXPECT_EQ(rows("", less), Rows{});
  EXPECT_EQ(rows("7x", at_least), (Rows{"7", "8"}));
  EXPECT_EQ(rows("7x", greater), (Rows{"8", "9"}));
  EXPECT_EQ(rows("7x", at_most), (Rows{"7", "6"}));
  EXPECT_EQ(rows("-1x", at_most), Rows{});
  const auto filtered = [&](Comparison comparison, Value value) {
    const Filter filter[] = {{.comparison = comparison, .column = 0, .value = value}};
    Find find = this->key("5", at_least, 3);
    find.filters = filter;
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    EXPECT_EQ(reply.failure, Failure::none);
    return reply.firsts();
  };
  EXPECT_EQ(filtered(less, Value::of("1x")), (Rows{"5", "6", "7"}));
  EXPECT_EQ(filtered(at_least, Value::of("1x")), (Rows{"10", "11", "12"}));
  const Value null[] = {Value::null()};
  const HeardReply &from_null = this->find(slot, {.comparison = greater, .key = null, .limit = 2});
  const HeardReply &to_null = this->find(slot, {.comparison = at_most, .key = null, .limit = 2});
  this->run_all();
  EXPECT_EQ(from_null.firsts(), (Rows{"1", "2"}));
  EXPECT_EQ(to_null.firsts(), Rows{});
}

TYPED_TEST_P(ExecutorFinds, WhatDoesNotFitItsColumnEqualsNoRow) {
  TableSlot &slot = this->opened();
  for (const std::string_view value : {"no number", "1x", "", "99999999999999999999999"}) {
    const HeardReply &reply = this->find(slot, this->key(value));
    this->run_all();
    EXPECT_EQ(reply.failure, Failure::none) << value;
    EXPECT_TRUE(reply.rows.empty()) << value;
    const auto rows = [&](Comparison comparison) {
      const Filter filter[] = {{.comparison = comparison, .column = 0, .value = Value::of(value)}};
      Find find = this->key("5", Comparison::at_least, 3);
      find.filters = filter;
      const HeardReply &filtered = this->find(slot, find);
      this->run_all();
      EXPECT_EQ(filtered.failure, Failure::none) << value;
      return filtered.firsts();
    };
    EXPECT_EQ(rows(Comparison::equal), std::vector<std::string>{}) << value;
    EXPECT_EQ(rows(Comparison::unequal), (std::vector<std::string>{"5", "6", "7"})) << value;
  }
  const Value null[] = {Value::null()};
  const HeardReply &reply = this->find(slot, {.key = null});
  this->run_all();
  EXPECT_EQ(reply.failure, Failure::none);
  EXPECT_TRUE(reply.rows.empty());
  const Value list[] = {Value::of("3"), Value::of("x"), Value::null(), Value::of("4")};
  const HeardReply &in = this->find(slot, {.key = null, .in_list = list, .limit = 10});
  this->run_all();
  EXPECT_EQ(in.firsts(), (std::vector<std::string>{"3", "4"}));
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorFinds, FindsByEveryComparison, NullIsAKeyAndSortsFirst, NoKeyAtAllFindsEveryRow,
                            LimitAndOffsetCountWhatPassesTheFilters, FiltersSkipStopAndKnowNull,
                            InListsReadEveryRowOfEachOrTheFirst, FindsFailEachInItsWay,
                            TextIsTheNumberItBeginsWithInRanges, WhatDoesNotFitItsColumnEqualsNoRow);

}  // namespace postern
