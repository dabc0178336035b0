// executor_opens_suite.h: the promises of executor.h about what opens name: tables, indexes and columns.
#pragma once

#include <algorithm>

#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class ExecutorOpens : public ExecutorTest<Fixture> {
 protected:
  Failure failure_of(const Names &names) {
    TableSlot &slot = this->slot();
    const HeardReply &reply = this->open(slot, names);
    this->run_all();
    EXPECT_EQ(slot.filled(), reply.failure == Failure::none);
    return reply.failure;
  }
};

TYPED_TEST_SUITE_P(ExecutorOpens);

TYPED_TEST_P(ExecutorOpens, OpensAndFindsInOneRun) {
  TableSlot &slot = this->slot();
  HeardReply &opened = this->open(slot);
  HeardReply &found = this->find(slot, this->key("7"));
  this->run_all();
  EXPECT_EQ(opened.failure, Failure::none);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0][1], "v7");
  EXPECT_EQ(found.columns, 2u);
  EXPECT_EQ(found.counted, 1u);
}

TYPED_TEST_P(ExecutorOpens, OpensFailEachInItsWay) {
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id"}}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "n", {}}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "1", {"id", "id", "v"}, {}, 0, 1}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "primary", {"id", "V"}, {"n"}}), Failure::none);
  for (const Bytes odd : {"id,v", "`id`", "", " v", "id "})
    EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {odd}}), Failure::no_column) << odd;
  EXPECT_EQ(this->failure_of({"contract", "t", "1", {"id"}}), Failure::no_index);
  EXPECT_EQ(this->failure_of({"contract", "t", "3", {"id"}, {}, 0, 3}), Failure::no_index);
  EXPECT_EQ(this->failure_of({"contract", "t", "", {"id"}}), Failure::no_index);
  EXPECT_EQ(this->failure_of({"contract", "t", "nosuch", {"id"}}), Failure::no_index);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id", "nosuch"}}), Failure::no_column);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id", ""}}), Failure::no_column);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id"}, {"nosuch"}}), Failure::no_column);
  EXPECT_EQ(this->failure_of({"contract", "nosuch", "PRIMARY", {"id"}}), Failure::no_table);
  EXPECT_EQ(this->failure_of({"nosuch", "t", "PRIMARY", {"id"}}), Failure::no_table);
  EXPECT_EQ(this->failure_of({"mysql", "user", "PRIMARY", {"Host"}}), Failure::system_schema);
  EXPECT_EQ(this->failure_of({"information_schema", "TABLES", "PRIMARY", {"TABLE_NAME"}}), Failure::system_schema);
}

TYPED_TEST_P(ExecutorOpens, OnlyTheWholeKeyIsTheKey) {
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id"}, {}, 1}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "0", {"ID", "v"}, {"n"}, 1, 0}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"v", "id"}, {}, 1}), Failure::index_not_the_key);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"v", "id"}}), Failure::none);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {}, {}, 1}), Failure::index_not_the_key);
  EXPECT_EQ(this->failure_of({"contract", "t", "PRIMARY", {"id", "v"}, {}, 2}), Failure::index_not_the_key);
  EXPECT_EQ(this->failure_of({"contract", "t", "n", {"n", "v"}, {}, 1}), Failure::index_not_the_key);
  EXPECT_EQ(this->failure_of({"contract", "t", "nosuch", {"n", "v"}, {}, 1}), Failure::no_index);
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v"}, {}, 1});
  HeardReply &found = this->find(slot, this->key("7"));
  this->run_all();
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"7"});
  EXPECT_EQ(slot.binding()->spec().key_columns, 1u);
}

TYPED_TEST_P(ExecutorOpens, FailuresHaveTheNumbersOfSql) {
  const auto error_of = [this](const Names &names) {
    const HeardReply &reply = this->open(this->slot(), names);
    this->run_all();
    return std::to_string(reply.sql_error.number) + " " + reply.sql_error.state;
  };
  EXPECT_EQ(error_of({"contract", "t", "PRIMARY", {"id"}}), "0 ");
  EXPECT_EQ(error_of({"contract", "nosuch", "PRIMARY", {"id"}}), "1146 42S02");
  EXPECT_EQ(error_of({"nosuch", "t", "PRIMARY", {"id"}}), TypeParam::unknown_database);
  EXPECT_EQ(error_of({"contract", "t", "nosuch", {"id"}}), "1176 42000");
  EXPECT_EQ(error_of({"contract", "t", "PRIMARY", {"nosuch"}}), "1054 42S22");
  EXPECT_EQ(error_of({"mysql", "user", "PRIMARY", {"Host"}}), "1142 42000");
}

TYPED_TEST_P(ExecutorOpens, ANameGoesBeforeAPosition) {
  TableSlot &by_name = this->opened({"contract", "t", "n", {"n"}, {}, 0, 0});
  TableSlot &by_position = this->opened({"contract", "t", "nosuch", {"id"}, {}, 0, 0});
  HeardReply &ten = this->find(by_name, this->key("10"));
  HeardReply &seven = this->find(by_position, this->key("7"));
  this->run_all();
  EXPECT_EQ(ten.firsts(), std::vector<std::string>{"10"});
  EXPECT_EQ(seven.firsts(), std::vector<std::string>{"7"});
}

TYPED_TEST_P(ExecutorOpens, AFailedOpenFailsWhatActsOnIt) {
  TableSlot &slot = this->slot();
  HeardReply &opened = this->open(slot, {"contract", "nosuch", "PRIMARY", {"id"}});
  HeardReply &found = this->find(slot, this->key("7"));
  HeardReply &refused = this->answer(Failure::unknown_command, &slot);
  this->run_all();
  EXPECT_EQ(opened.failure, Failure::no_table);
  EXPECT_EQ(found.failure, Failure::not_open);
  EXPECT_EQ(refused.failure, Failure::not_open);
}

TYPED_TEST_P(ExecutorOpens, AFailedReopenKeepsTheOld) {
  auto old = std::make_unique<TableSlot>();
  this->open(*old);
  this->run_all();
  TableSlot &failed = this->slot(std::move(old));
  HeardReply &opened = this->open(failed, {"contract", "t", "nosuch", {"id"}});
  HeardReply &found = this->find(failed, this->key("7"));
  HeardReply &refused = this->answer(Failure::unknown_command, &failed);
  this->run_all();
  EXPECT_EQ(opened.failure, Failure::no_index);
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"7"});
  EXPECT_EQ(refused.failure, Failure::unknown_command);
}

TYPED_TEST_P(ExecutorOpens, ABindingRemembersItsNames) {
  TableSlot &slot = this->slot();
  {
    std::string id = "id", v = "v", n = "n";
    this->open(slot, {"contract", "t", "PRIMARY", {id, v}, {n}});
    this->run_all();
    id = v = n = "####";
  }
  ASSERT_NE(slot.binding(), nullptr);
  EXPECT_EQ(slot.binding()->spec().table, "t");
  EXPECT_TRUE(std::ranges::equal(slot.binding()->spec().columns, std::vector<Bytes>{"id", "v"}));
  EXPECT_TRUE(std::ranges::equal(slot.binding()->spec().filter_columns, std::vector<Bytes>{"n"}));
}

TYPED_TEST_P(ExecutorOpens, ATableThatIsGoneIsNamed) {
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.drop_table();
  HeardReply &reply = this->find(slot, this->key("1"));
  this->run_all();
  EXPECT_EQ(reply.failure, Failure::no_table);
  EXPECT_NE(reply.message.find("t"), std::string::npos);
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorOpens, OpensAndFindsInOneRun, OpensFailEachInItsWay, OnlyTheWholeKeyIsTheKey,
                            FailuresHaveTheNumbersOfSql, ANameGoesBeforeAPosition, AFailedOpenFailsWhatActsOnIt,
                            AFailedReopenKeepsTheOld, ABindingRemembersItsNames, ATableThatIsGoneIsNamed);

}  // namespace postern
