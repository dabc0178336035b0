// executor_ranges_suite.h: the promises of op.h about finds with two ends and by the beginning of a text, and of
// reply.h about the shape of columns.
#pragma once

#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class ExecutorRanges : public ExecutorTest<Fixture> {
 protected:
  /// A find from `key` to `until`, each of one value or, if empty, of none.
  Find range(Comparison comparison, std::vector<Value> key, std::vector<Value> until, bool included = true) {
    return {
        .comparison = comparison, .key = kept(key), .limit = 1'000, .until = kept(until), .until_included = included};
  }
  Find begins(std::string_view text, Comparison comparison = Comparison::at_least) {
    return {.comparison = comparison, .key = kept({Value::of(text)}), .limit = 1'000, .prefix = true};
  }
  std::vector<std::string> rows(TableSlot &slot, const Find &find) {
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    EXPECT_EQ(reply.failure, Failure::none);
    return reply.firsts();
  }
  Failure failure_of(TableSlot &slot, const Find &find) {
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    EXPECT_TRUE(reply.rows.empty());
    return reply.failure;
  }
  std::span<const Value> kept(const std::vector<Value> &values) {
    values_.push_back(values);
    return values_.back();
  }

 private:
  std::deque<std::vector<Value>> values_;
};

TYPED_TEST_SUITE_P(ExecutorRanges);

TYPED_TEST_P(ExecutorRanges, AFindEndsWhereItShould) {
  using enum Comparison;
  using Rows = std::vector<std::string>;
  TableSlot &slot = this->opened();
  const Value ten = Value::of("10"), twelve = Value::of("12");
  EXPECT_EQ(this->rows(slot, this->range(at_least, {ten}, {twelve})), (Rows{"10", "11", "12"}));
  EXPECT_EQ(this->rows(slot, this->range(at_least, {ten}, {twelve}, false)), (Rows{"10", "11"}));
  EXPECT_EQ(this->rows(slot, this->range(greater, {ten}, {twelve})), (Rows{"11", "12"}));
  EXPECT_EQ(this->rows(slot, this->range(at_most, {twelve}, {ten})), (Rows{"12", "11", "10"}));
  EXPECT_EQ(this->rows(slot, this->range(at_most, {twelve}, {ten}, false)), (Rows{"12", "11"}));
  EXPECT_EQ(this->rows(slot, this->range(less, {twelve}, {ten})), (Rows{"11", "10"}));
  EXPECT_EQ(this->rows(slot, this->range(at_least, {}, {Value::of("3")})), (Rows{"1", "2", "3"}));
  EXPECT_EQ(this->rows(slot, this->range(at_most, {}, {Value::of("98")})), (Rows{"100", "99", "98"}));
  EXPECT_EQ(this->rows(slot, this->range(equal, {ten}, {twelve})), Rows{"10"});
  EXPECT_EQ(this->rows(slot, this->range(equal, {twelve}, {ten})), Rows{});
  EXPECT_EQ(this->rows(slot, this->range(at_least, {twelve}, {ten})), Rows{});
  EXPECT_EQ(this->rows(slot, this->range(at_least, {Value::of("99")}, {Value::of("1000")})), (Rows{"99", "100"}));
}

TYPED_TEST_P(ExecutorRanges, LimitsOffsetsAndFiltersCountWithinTheEnds) {
  TableSlot &slot = this->opened();
  const Filter threes[] = {{.comparison = Comparison::equal, .column = 0, .value = Value::of("3")}};
  Find find = this->range(Comparison::at_least, {Value::of("1")}, {Value::of("36")});
  find.filters = threes;
  find.offset = 3;
  EXPECT_EQ(this->rows(slot, find), (std::vector<std::string>{"33", "34", "36"}));
  find.limit = 2;
  EXPECT_EQ(this->rows(slot, find), (std::vector<std::string>{"33", "34"}));
}

TYPED_TEST_P(ExecutorRanges, NullIsBelowEveryEnd) {
  TableSlot &by_n = this->opened({"contract", "t", "n", {"id"}});
  const Value null = Value::null(), zero = Value::of("0"), one = Value::of("1");
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_least, {}, {zero})).size(), 14u + 8u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::greater, {null}, {zero})).size(), 8u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_least, {}, {null})).size(), 14u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_least, {}, {null}, false)).size(), 0u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_most, {one}, {null})).size(), 14u + 8u + 9u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_most, {one}, {null}, false)).size(), 8u + 9u);
  EXPECT_EQ(this->rows(by_n, this->range(Comparison::at_most, {one}, {zero})).size(), 8u + 9u);
}

TYPED_TEST_P(ExecutorRanges, FindsWhatBeginsWithAText) {
  using Rows = std::vector<std::string>;
  TableSlot &by_v = this->opened({"contract", "t", "v", {"v"}});
  const Rows up{"v10", "v100"};
  Rows nines{"v9"}, down{"v99"};
  for (int i = 0; i < 10; ++i) nines.push_back("v9" + std::to_string(i));
  for (int i = 8; i >= 0; --i) down.push_back("v9" + std::to_string(i));
  down.push_back("v9");
  EXPECT_EQ(this->rows(by_v, this->begins("v10")), up);
  EXPECT_EQ(this->rows(by_v, this->begins("v10", Comparison::equal)), up);
  EXPECT_EQ(this->rows(by_v, this->begins("V9")), nines);
  EXPECT_EQ(this->rows(by_v, this->begins("v9", Comparison::at_most)), down);
  EXPECT_EQ(this->rows(by_v, this->begins("")).size(), 100u);
  EXPECT_EQ(this->rows(by_v, this->begins("w")), Rows{});
  EXPECT_EQ(this->rows(by_v, this->begins("v1%")), Rows{});
  EXPECT_EQ(this->rows(by_v, this->begins("v1_")), Rows{});
  EXPECT_EQ(this->rows(by_v, this->begins("v1\\")), Rows{});
  Find find = this->begins("v9");
  find.limit = 3;
  find.offset = 2;
  EXPECT_EQ(this->rows(by_v, find), (Rows{"v91", "v92", "v93"}));
  find = this->begins("v9");
  find.until = this->kept({Value::of("v91")});
  EXPECT_EQ(this->rows(by_v, find), (Rows{"v9", "v90", "v91"}));
  find.key = this->kept({Value::null()});
  EXPECT_EQ(this->rows(by_v, find), Rows{});
}

TYPED_TEST_P(ExecutorRanges, EndsThatMakeNoSenseFail) {
  using enum Comparison;
  TableSlot &slot = this->opened();
  TableSlot &by_v = this->opened({"contract", "t", "v", {"v"}});
  const Value one = Value::of("1");
  EXPECT_EQ(this->failure_of(slot, this->range(at_least, {one}, {one, one})), Failure::too_many_key_parts);
  EXPECT_EQ(this->failure_of(slot, this->range(equal, {}, {one})), Failure::no_key_values);
  EXPECT_EQ(this->failure_of(slot, this->begins("1")), Failure::index_unusable);
  EXPECT_EQ(this->failure_of(by_v, this->begins("v", greater)), Failure::syntax);
  EXPECT_EQ(this->failure_of(by_v, this->begins("v", less)), Failure::syntax);
  EXPECT_EQ(this->failure_of(by_v, {.comparison = at_least, .limit = 1, .prefix = true}), Failure::no_key_values);
  Find in = this->range(equal, {one}, {one});
  in.in_list = in.key;
  EXPECT_EQ(this->failure_of(slot, in), Failure::syntax);
}

TYPED_TEST_P(ExecutorRanges, APausedFindKeepsItsEnds) {
  using enum Comparison;
  TableSlot &slot = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", {"id"}});
  TableSlot &by_v = this->opened({"contract", "t", "v", {"v"}});
  const Value low = Value::of("2"), high = Value::of("9");
  for (TableSlot *const through : {&slot, &by_n}) {
    for (const Find &find : {this->range(at_least, {low}, {high}), this->range(less, {high}, {low}, false),
                             this->range(at_least, {}, {high}), this->range(at_most, {}, {high})}) {
      const std::vector<std::string> whole = this->rows(*through, find);
      EXPECT_FALSE(whole.empty());
      for (const size_t pause_after : {1, 3}) EXPECT_EQ(this->firsts_with_pauses(*through, find, pause_after), whole);
    }
  }
  for (const Comparison comparison : {at_least, at_most}) {
    const Find find = this->begins("v1", comparison);
    EXPECT_EQ(this->firsts_with_pauses(by_v, find, 2), this->rows(by_v, find));
  }
}

TYPED_TEST_P(ExecutorRanges, AReplyHearsTheShapeBeforeItsRows) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"v", "id"}});
  Find find = this->key("7");
  HeardReply &unasked = this->find(slot, find);
  find.shape_wanted = true;
  HeardReply &found = this->find(slot, find);
  HeardReply &again = this->find(slot, find);
  Find nothing = this->key("1000");
  nothing.shape_wanted = true;
  HeardReply &empty = this->find(slot, nothing);
  this->run_all();
  EXPECT_EQ(unasked.shapes, 0);
  for (const HeardReply *const reply : {&found, &again, &empty}) {
    EXPECT_EQ(reply->shapes, 1);
    EXPECT_EQ(reply->shape_text, "v 253\nid 3 not null\n");
  }
  EXPECT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(empty.rows.size(), 0u);
}

TYPED_TEST_P(ExecutorRanges, TheShapeIsToldAnewToAFindThatBeginsAnew) {
  TableSlot &slot = this->opened();
  Find find = this->key("0", Comparison::at_least, 50);
  find.shape_wanted = true;
  HeardReply &reply = this->find(slot, find);
  reply.pause_after = 10;
  this->run();
  EXPECT_EQ(reply.shapes, 1);
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::paused);
  reply.restart();
  std::unique_ptr<Position> position;
  this->batch_.ops()[0].position = &position;
  for (int runs = 0; runs < 10 && reply.dones == 0; ++runs) this->run(Lane::alone);
  this->batch_.clear();
  EXPECT_EQ(reply.rows.size(), 50u);
  EXPECT_EQ(reply.shapes, 2);
}

TYPED_TEST_P(ExecutorRanges, AnEstimateReadsNoRowsAndIsNearTheirNumber) {
  TableSlot &slot = this->opened();
  Find find = this->range(Comparison::at_least, {Value::of("11")}, {Value::of("70")});
  find.estimated = true;
  const HeardReply &reply = this->find(slot, find);
  this->run_all();
  EXPECT_EQ(reply.failure, Failure::none);
  EXPECT_TRUE(reply.rows.empty());
  EXPECT_GE(reply.counted, 40u);
  EXPECT_LE(reply.counted, 90u);
  find.until = {};
  EXPECT_EQ(this->failure_of(slot, find), Failure::syntax);
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorRanges, AnEstimateReadsNoRowsAndIsNearTheirNumber, AFindEndsWhereItShould,
                            LimitsOffsetsAndFiltersCountWithinTheEnds, NullIsBelowEveryEnd, FindsWhatBeginsWithAText,
                            EndsThatMakeNoSenseFail, APausedFindKeepsItsEnds, AReplyHearsTheShapeBeforeItsRows,
                            TheShapeIsToldAnewToAFindThatBeginsAnew);

}  // namespace postern
