// executor_contract_suite.h: the promises of executor.h as tests that run over any engine.
//
// An engine's fixture supplies a table and the means to hold it and to change it:
//
//   struct MyFixture {
//     /// An executor of the engine that may write, on the calling thread.
//     std::unique_ptr<Executor> attach();
//     /// `contract.t(id int primary key, v varchar(20), n int, key n(n))` with the rows (i, "v<i>", i / 10) for i
//     /// from 1 to `rows`; n is NULL where i is a multiple of 7.
//     void make_table(int rows);
//     /// DDL holds contract.t, or no longer.
//     void hold_table(bool hold);
//     /// Drops contract.t; fails the test if somebody keeps it from that.
//     void drop_table();
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, ExecutorContract, MyFixture);
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "contract/batch.h"
#include "contract/executor.h"

namespace postern {

/// Remembers what an op heard.
class HeardReply final : public Reply {
 public:
  using Cell = std::optional<std::string>;

  Flow row(Row row) override {
    std::vector<Cell> &cells = rows.emplace_back();
    for (const Value &value : row) {
      switch (value.kind()) {
        case Value::Kind::null: cells.emplace_back(); break;
        case Value::Kind::bytes: cells.emplace_back(value.bytes()); break;
        case Value::Kind::integer: cells.emplace_back(std::to_string(value.integer())); break;
        case Value::Kind::natural: cells.emplace_back(std::to_string(value.natural())); break;
      }
    }
    return pause_after != 0 && rows.size() % pause_after == 0 ? Flow::pause : Flow::more;
  }
  Flow look(uint32_t of_columns) override {
    ++looks;
    columns = of_columns;
    return pause_at_looks ? Flow::pause : Flow::more;
  }
  void done(const Outcome &outcome) override {
    ++dones;
    failure = outcome.failure;
    columns = outcome.columns;
    counted = outcome.rows;
    changed = outcome.changed;
    message = outcome.message;
    order = next_order()++;
  }
  void restart() override {
    rows.clear();
    dones = 0;
  }

  /// The first column of every row, for tests that need no more.
  std::vector<std::string> firsts() const {
    std::vector<std::string> found;
    for (const std::vector<Cell> &row : rows) found.push_back(row[0].value_or("NULL"));
    return found;
  }

  static int &next_order() {
    static int next = 0;
    return next;
  }

  size_t pause_after = 0;       ///< rows; 0 for never
  bool pause_at_looks = false;  ///< ask for a pause at every look
  int looks = 0;
  std::vector<std::vector<Cell>> rows;
  int dones = 0;
  int order = -1;  ///< among all dones of the test
  Failure failure = Failure::none;
  uint32_t columns = 0;
  uint64_t counted = 0;
  uint64_t changed = 0;
  std::string message;
};

/// Decides as a test says.
class TestEdit final : public Edit {
 public:
  using Decide = std::function<Decision(Row, Draft &)>;
  explicit TestEdit(Decide decide) : decide_(std::move(decide)) {}
  Decision present(Row now, Draft &next) override {
    ++presented;
    return decide_(now, next);
  }
  int presented = 0;

 private:
  Decide decide_;
};

template <class Fixture>
class ExecutorContract : public testing::Test {
 protected:
  void SetUp() override {
    fixture_.make_table(100);
    executor_ = fixture_.attach();
    ASSERT_NE(executor_, nullptr);
  }
  void TearDown() override {
    slots_.clear();  // while their executor lives
    executor_.reset();
  }

  TableSlot &slot(std::unique_ptr<TableSlot> previous = nullptr) {
    slots_.push_back(std::make_unique<TableSlot>(std::move(previous)));
    return *slots_.back();
  }
  HeardReply &heard() { return replies_.emplace_back(); }

  HeardReply &open(TableSlot &slot, TableSpec spec = {"contract", "t", "PRIMARY", "id,v", "n"}) {
    Op op;
    op.verb = Verb::open;
    op.slot = &slot;
    op.spec = batch_.arena().template make<TableSpec>(spec);
    return add(op);
  }
  HeardReply &find(TableSlot &slot, const Find &find) {
    Op op;
    op.verb = Verb::find;
    op.slot = &slot;
    op.find = batch_.arena().template make<Find>(find);
    return add(op);
  }
  HeardReply &insert(TableSlot &slot, std::vector<Value> values, OnDuplicate on_duplicate = OnDuplicate::fail) {
    const std::span<Value> kept = batch_.arena().template array<Value>(values.size());
    std::copy(values.begin(), values.end(), kept.begin());
    Op op;
    op.verb = Verb::insert;
    op.slot = &slot;
    op.insert = batch_.arena().template make<Insert>(Insert{kept, on_duplicate});
    return add(op);
  }
  /// An insert that `decide` is asked about if there is a row already.
  HeardReply &decide(TableSlot &slot, std::vector<Value> values, TestEdit::Decide decide) {
    const std::span<Value> kept = batch_.arena().template array<Value>(values.size());
    std::copy(values.begin(), values.end(), kept.begin());
    Op op;
    op.verb = Verb::insert;
    op.slot = &slot;
    edits_.emplace_back(std::move(decide));
    op.insert = batch_.arena().template make<Insert>(Insert{kept, OnDuplicate::decide, &edits_.back(), true});
    return add(op);
  }
  HeardReply &edit(TableSlot &slot, const Find &find, TestEdit::Decide decide, bool rows_wanted = false,
                   bool erases = false) {
    Op op;
    op.verb = Verb::edit;
    op.slot = &slot;
    edits_.emplace_back(std::move(decide));
    op.edit = batch_.arena().template make<EditRows>(EditRows{find, &edits_.back(), rows_wanted, erases});
    return add(op);
  }
  HeardReply &answer(Failure failure, TableSlot *slot = nullptr) {
    Op op;
    op.failure = failure;
    op.slot = slot;
    return add(op);
  }

  Find key(std::string_view value, Comparison comparison = Comparison::equal, uint64_t limit = 1) {
    const std::span<Value> values = batch_.arena().template array<Value>(1);
    values[0] = Value::of(batch_.arena().copy(value));
    return {.comparison = comparison, .key = values, .limit = limit};
  }

  void run() { EXPECT_TRUE(executor_->run(batch_.ops()).lasted()); }
  /// Runs the only op that was added by itself, as the slow lane does, until it is done.
  void run_alone() {
    std::unique_ptr<Position> position;
    Op &op = batch_.ops()[0];
    op.position = &position;
    EXPECT_TRUE(executor_->run({&op, 1}).lasted());
    EXPECT_EQ(op.progress, Progress::done);
    batch_.clear();
  }
  /// The rows of contract.t with ids from `first` to `last`, as another thread's executor sees them: "id v n".
  std::vector<std::string> stored(int first, int last) {
    std::vector<std::string> rows;
    std::thread([&] { rows = read_rows(first, last); }).join();
    return rows;
  }
  /// Runs what was added so far and forgets it; all of it has to be done.
  void run_all() {
    run();
    for (const Op &op : batch_.ops()) EXPECT_EQ(op.progress, Progress::done);
    batch_.clear();
  }
  /// A slot that is open.
  TableSlot &opened(TableSpec spec = {"contract", "t", "PRIMARY", "id,v", "n"}) {
    TableSlot &made = slot();
    EXPECT_EQ(open(made, spec).dones, 0);
    run_all();
    EXPECT_TRUE(made.filled());
    return made;
  }

  Fixture fixture_;
  std::unique_ptr<Executor> executor_;
  Batch batch_;

 private:
  HeardReply &add(Op op) {
    HeardReply &reply = heard();
    op.reply = &reply;
    batch_.add(std::move(op));
    return reply;
  }

  std::vector<std::string> read_rows(int first, int last) {
    const std::unique_ptr<Executor> other = fixture_.attach();
    TableSlot slot;
    Batch batch;
    HeardReply opened, found;
    const TableSpec spec{"contract", "t", "PRIMARY", "id,v,n", ""};
    Op open;
    open.verb = Verb::open;
    open.reply = &opened;
    open.slot = &slot;
    open.spec = &spec;
    batch.add(std::move(open));
    const std::string key = std::to_string(first);
    const Value value = Value::of(key);
    const Find find{.comparison = Comparison::at_least, .key = {&value, 1}, .limit = 1'000};
    Op op;
    op.verb = Verb::find;
    op.reply = &found;
    op.slot = &slot;
    op.find = &find;
    batch.add(std::move(op));
    EXPECT_TRUE(other->run(batch.ops()).lasted());
    std::vector<std::string> rows;
    for (const auto &row : found.rows) {
      if (std::stoi(*row[0]) > last) break;
      rows.push_back(*row[0] + " " + row[1].value_or("NULL") + " " + row[2].value_or("NULL"));
    }
    return rows;
  }

  std::vector<std::unique_ptr<TableSlot>> slots_;
  std::deque<HeardReply> replies_;
  std::deque<TestEdit> edits_;
};

TYPED_TEST_SUITE_P(ExecutorContract);

TYPED_TEST_P(ExecutorContract, RunsOpsInOrderAndEachIsDoneOnce) {
  TableSlot &slot = this->opened();
  HeardReply &first = this->find(slot, this->key("3"));
  HeardReply &second = this->answer(Failure::unknown_command);
  HeardReply &third = this->answer(Failure::none);
  HeardReply &fourth = this->find(slot, this->key("4"));
  this->run_all();
  EXPECT_EQ(first.firsts(), std::vector<std::string>{"3"});
  EXPECT_EQ(second.failure, Failure::unknown_command);
  EXPECT_EQ(third.failure, Failure::none);
  EXPECT_EQ(fourth.firsts(), std::vector<std::string>{"4"});
  for (const HeardReply *reply : {&first, &second, &third, &fourth}) EXPECT_EQ(reply->dones, 1);
  EXPECT_LT(first.order, second.order);
  EXPECT_LT(second.order, third.order);
  EXPECT_LT(third.order, fourth.order);
}

TYPED_TEST_P(ExecutorContract, OpensAndFindsInOneRun) {
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

TYPED_TEST_P(ExecutorContract, OpensFailEachInItsWay) {
  const auto failure_of = [this](TableSpec spec) {
    TableSlot &slot = this->slot();
    const HeardReply &reply = this->open(slot, spec);
    this->run_all();
    EXPECT_EQ(slot.filled(), reply.failure == Failure::none);
    return reply.failure;
  };
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id", ""}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "n", "", ""}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "1", "id,id,v", ""}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "primary", "`id`,V", "`n`"}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "`id,v`", ""}), Failure::no_column);
  EXPECT_EQ(failure_of({"contract", "t", "2", "id", ""}), Failure::no_index);
  EXPECT_EQ(failure_of({"contract", "t", "99999999999999999999", "id", ""}), Failure::no_index);
  EXPECT_EQ(failure_of({"contract", "t", "nosuch", "id", ""}), Failure::no_index);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id,nosuch", ""}), Failure::no_column);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id,", ""}), Failure::no_column);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id, v", ""}), Failure::no_column);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id", "nosuch"}), Failure::no_column);
  EXPECT_EQ(failure_of({"contract", "nosuch", "PRIMARY", "id", ""}), Failure::no_table);
  EXPECT_EQ(failure_of({"nosuch", "t", "PRIMARY", "id", ""}), Failure::no_table);
  EXPECT_EQ(failure_of({"mysql", "user", "PRIMARY", "Host", ""}), Failure::system_schema);
  EXPECT_EQ(failure_of({"information_schema", "TABLES", "PRIMARY", "TABLE_NAME", ""}), Failure::system_schema);
}

TYPED_TEST_P(ExecutorContract, AFailedOpenFailsWhatActsOnIt) {
  TableSlot &slot = this->slot();
  HeardReply &opened = this->open(slot, {"contract", "nosuch", "PRIMARY", "id", ""});
  HeardReply &found = this->find(slot, this->key("7"));
  HeardReply &refused = this->answer(Failure::unknown_operator, &slot);
  this->run_all();
  EXPECT_EQ(opened.failure, Failure::no_table);
  EXPECT_EQ(found.failure, Failure::not_open);
  EXPECT_EQ(refused.failure, Failure::not_open);
}

TYPED_TEST_P(ExecutorContract, AFailedReopenKeepsTheOld) {
  auto old = std::make_unique<TableSlot>();
  this->open(*old);
  this->run_all();
  TableSlot &failed = this->slot(std::move(old));
  HeardReply &opened = this->open(failed, {"contract", "t", "nosuch", "id", ""});
  HeardReply &found = this->find(failed, this->key("7"));
  HeardReply &refused = this->answer(Failure::unknown_operator, &failed);
  this->run_all();
  EXPECT_EQ(opened.failure, Failure::no_index);
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"7"});
  EXPECT_EQ(refused.failure, Failure::unknown_operator);
}

TYPED_TEST_P(ExecutorContract, ABindingRemembersItsNames) {
  TableSlot &slot = this->slot();
  {
    std::string columns = "id,v", filters = "n";
    this->open(slot, {"contract", "t", "PRIMARY", columns, filters});
    this->run_all();
    columns = filters = "####";
  }
  ASSERT_NE(slot.binding(), nullptr);
  EXPECT_EQ(slot.binding()->spec().table, "t");
  EXPECT_EQ(slot.binding()->spec().columns, "id,v");
  EXPECT_EQ(slot.binding()->spec().filter_columns, "n");
}

TYPED_TEST_P(ExecutorContract, FindsByEveryComparison) {
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

TYPED_TEST_P(ExecutorContract, NullIsAKeyAndSortsFirst) {
  TableSlot &slot = this->opened({"contract", "t", "n", "id", ""});
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

TYPED_TEST_P(ExecutorContract, NoKeyAtAllFindsEveryRow) {
  using Rows = std::vector<std::string>;
  TableSlot &slot = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", "n", ""});
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

TYPED_TEST_P(ExecutorContract, OnlyTheWholeKeyIsTheKey) {
  const auto failure_of = [this](TableSpec spec) {
    TableSlot &slot = this->slot();
    const HeardReply &reply = this->open(slot, spec);
    this->run_all();
    EXPECT_EQ(slot.filled(), reply.failure == Failure::none);
    return reply.failure;
  };
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id", "", true}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "0", "`ID`,v", "n", true}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "v,id", "", true}), Failure::index_not_the_key);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "v,id", ""}), Failure::none);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "", "", true}), Failure::index_not_the_key);
  EXPECT_EQ(failure_of({"contract", "t", "PRIMARY", "id,v", "", true, 2}), Failure::index_not_the_key);
  EXPECT_EQ(failure_of({"contract", "t", "n", "n,v", "", true}), Failure::index_not_the_key);
  EXPECT_EQ(failure_of({"contract", "t", "nosuch", "n,v", "", true}), Failure::no_index);
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", "id,v", "", true});
  HeardReply &found = this->find(slot, this->key("7"));
  this->run_all();
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"7"});
  EXPECT_TRUE(slot.binding()->spec().whole_unique_key);
  EXPECT_EQ(slot.binding()->spec().key_columns, 1u);
}

TYPED_TEST_P(ExecutorContract, LimitAndOffsetCountWhatPassesTheFilters) {
  TableSlot &slot = this->opened();
  const Filter in_the_thirties[] = {{.comparison = Comparison::equal, .column = 0, .value = Value::of("3")}};
  Find find = this->key("1", Comparison::at_least, 3);
  find.filters = in_the_thirties;
  find.offset = 2;
  HeardReply &reply = this->find(slot, find);
  this->run_all();
  EXPECT_EQ(reply.firsts(), (std::vector<std::string>{"32", "33", "34"}));
}

TYPED_TEST_P(ExecutorContract, FiltersSkipStopAndKnowNull) {
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

TYPED_TEST_P(ExecutorContract, InListsReadEveryRowOfEachOrTheFirst) {
  TableSlot &by_id = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", "id", ""});
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

TYPED_TEST_P(ExecutorContract, FindsFailEachInItsWay) {
  TableSlot &slot = this->opened();
  const auto failure_of = [&](const Find &find) {
    const HeardReply &reply = this->find(slot, find);
    this->run_all();
    EXPECT_TRUE(reply.rows.empty());
    return reply.failure;
  };
  const Value two[] = {Value::of("1"), Value::of("2")};
  EXPECT_EQ(failure_of({.key = two}), Failure::too_many_key_parts);
  EXPECT_EQ(failure_of(this->key("no number", Comparison::greater)), Failure::bad_key_value);
  EXPECT_EQ(failure_of(this->key("1x", Comparison::at_most)), Failure::bad_key_value);
  EXPECT_EQ(failure_of(this->key("", Comparison::less)), Failure::bad_key_value);
  const Filter unknown[] = {{.column = 1}};
  Find find = this->key("1");
  find.filters = unknown;
  EXPECT_EQ(failure_of(find), Failure::no_filter_column);
  const Filter bad[] = {{.comparison = Comparison::less, .column = 0, .value = Value::of("no number")}};
  find = this->key("1");
  find.filters = bad;
  EXPECT_EQ(failure_of(find), Failure::bad_filter_value);
}

TYPED_TEST_P(ExecutorContract, WhatDoesNotFitItsColumnEqualsNoRow) {
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

TYPED_TEST_P(ExecutorContract, ATableThatIsGoneIsNamed) {
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.drop_table();
  HeardReply &reply = this->find(slot, this->key("1"));
  this->run_all();
  EXPECT_EQ(reply.failure, Failure::no_table);
  EXPECT_NE(reply.message.find("t"), std::string::npos);
}

TYPED_TEST_P(ExecutorContract, ABusyTableLeavesNothingWrittenAndNeighboursGoOn) {
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.hold_table(true);
  this->batch_.begin(1);
  HeardReply &before = this->answer(Failure::none);
  HeardReply &busy = this->find(slot, this->key("1"));
  HeardReply &waiting = this->answer(Failure::unknown_command);
  HeardReply &waiting_too = this->find(slot, this->key("2"));
  this->batch_.begin(2);
  HeardReply &neighbour = this->answer(Failure::none);
  TableSlot &other = this->slot();
  HeardReply &opening = this->open(other);
  this->run();
  const std::span<Op> ops = this->batch_.ops();
  const Progress expected[] = {Progress::done,    Progress::busy, Progress::waiting,
                               Progress::waiting, Progress::done, Progress::busy};
  for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(ops[i].progress, expected[i]) << i;
  EXPECT_EQ(before.dones, 1);
  EXPECT_EQ(neighbour.dones, 1);
  for (const HeardReply *reply : {&busy, &waiting, &waiting_too, &opening}) {
    EXPECT_EQ(reply->dones, 0);
    EXPECT_TRUE(reply->rows.empty());
  }

  this->fixture_.hold_table(false);
  this->executor_->run(ops.subspan(1, 3));
  this->executor_->run(ops.subspan(5, 1));
  EXPECT_EQ(busy.firsts(), std::vector<std::string>{"1"});
  EXPECT_EQ(waiting.failure, Failure::unknown_command);
  EXPECT_EQ(waiting_too.firsts(), std::vector<std::string>{"2"});
  EXPECT_EQ(opening.failure, Failure::none);
  for (const HeardReply *reply : {&busy, &waiting, &waiting_too, &opening}) EXPECT_EQ(reply->dones, 1);
}

TYPED_TEST_P(ExecutorContract, WhatIsTooMuchForATurnIsPausedAndTheRestWaits) {
  const auto rows = limits::find_rows_fast_max + 100;
  this->fixture_.make_table(static_cast<int>(rows));
  TableSlot &slot = this->opened();
  this->batch_.begin(1);
  HeardReply &scan = this->find(slot, this->key("0", Comparison::at_least, 1'000'000));
  HeardReply &behind = this->find(slot, this->key("2"));
  this->batch_.begin(2);
  HeardReply &neighbour = this->find(slot, this->key("3"));
  this->run();
  std::span<Op> ops = this->batch_.ops();
  EXPECT_EQ(ops[0].progress, Progress::paused);
  EXPECT_EQ(ops[1].progress, Progress::waiting);
  EXPECT_EQ(ops[2].progress, Progress::done);
  EXPECT_EQ(scan.dones, 0);
  EXPECT_LE(scan.rows.size(), limits::find_rows_fast_max);
  EXPECT_EQ(behind.dones, 0);
  EXPECT_EQ(neighbour.firsts(), std::vector<std::string>{"3"});

  // In the slow lane it starts anew, with a place to keep.
  scan.restart();
  std::unique_ptr<Position> position;
  ops[0].position = &position;
  do this->executor_->run(ops.first(1));
  while (ops[0].progress == Progress::paused);
  EXPECT_EQ(ops[0].progress, Progress::done);
  EXPECT_EQ(scan.rows.size(), rows);
  EXPECT_EQ(scan.counted, rows);
  EXPECT_EQ(scan.dones, 1);
  position.reset();
  ops[0].position = nullptr;
  this->executor_->run(ops.subspan(1, 1));
  EXPECT_EQ(behind.firsts(), std::vector<std::string>{"2"});
}

TYPED_TEST_P(ExecutorContract, AReplyMayPauseAFindInAFastTurn) {
  TableSlot &slot = this->opened();
  HeardReply &reply = this->find(slot, this->key("0", Comparison::at_least, 50));
  reply.pause_after = 10;
  this->run();
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::paused);
  EXPECT_EQ(reply.rows.size(), 10u);
  EXPECT_EQ(reply.dones, 0);
}

TYPED_TEST_P(ExecutorContract, AResumedFindEqualsAnUninterruptedOne) {
  TableSlot &by_id = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", "id,v", "n"});
  const Filter not_five[] = {{.comparison = Comparison::unequal, .column = 0, .value = Value::of("5")}};
  const Value tens[] = {Value::of("9"), Value::of("50"), Value::of("5"), Value::of("0")};
  const Value any[] = {Value::of("5")};
  std::vector<Find> finds;
  for (const Comparison comparison :
       {Comparison::equal, Comparison::greater, Comparison::at_least, Comparison::less, Comparison::at_most}) {
    finds.push_back({.comparison = comparison, .key = any, .limit = 60, .offset = 3, .filters = not_five});
    finds.push_back({.comparison = comparison, .key = any, .in_list = tens, .limit = 25, .offset = 2});
  }
  for (TableSlot *const slot : {&by_id, &by_n}) {
    for (const Find &wanted : finds) {
      const HeardReply &whole = this->find(*slot, wanted);
      this->run_all();
      for (const size_t pause_after : {size_t{1}, size_t{7}}) {
        HeardReply &reply = this->find(*slot, wanted);
        reply.pause_after = pause_after;
        std::unique_ptr<Position> position;
        const std::span<Op> ops = this->batch_.ops();
        ops[0].position = &position;
        for (int runs = 0; runs < 200; ++runs) {
          this->run();
          if (ops[0].progress == Progress::done) break;
          EXPECT_EQ(ops[0].progress, Progress::paused);
        }
        EXPECT_EQ(reply.dones, 1);
        EXPECT_EQ(reply.rows, whole.rows);
        EXPECT_EQ(reply.counted, whole.counted);
        EXPECT_EQ(reply.failure, whole.failure);
        this->batch_.clear();
      }
    }
  }
}

TYPED_TEST_P(ExecutorContract, AFindWithoutMatchesAsksItsReplyWhetherToGoOn) {
  constexpr uint64_t rows = 20 * limits::rows_between_looks;
  this->fixture_.make_table(static_cast<int>(rows));
  TableSlot &slot = this->opened();
  const Filter none[] = {{.comparison = Comparison::equal, .column = 0, .value = Value::of("-1")}};
  const Value start[] = {Value::of("0")};
  const Find everything{.comparison = Comparison::at_least, .key = start, .limit = 1'000'000, .filters = none};
  HeardReply &fast = this->find(slot, everything);
  this->run_all();
  EXPECT_EQ(fast.looks, 0);

  HeardReply &slow = this->find(slot, everything);
  std::unique_ptr<Position> position;
  Op &op = this->batch_.ops()[0];
  op.position = &position;
  this->run();
  EXPECT_EQ(op.progress, Progress::done);
  EXPECT_GE(slow.looks, 15);
  EXPECT_LE(slow.looks, 20);
  EXPECT_EQ(slow.columns, 2u);

  position.reset();
  HeardReply &pausing = *static_cast<HeardReply *>(op.reply);
  pausing.restart();
  pausing.pause_at_looks = true;
  int runs = 0;
  do this->run();
  while (op.progress == Progress::paused && ++runs < 100);
  EXPECT_EQ(op.progress, Progress::done);
  EXPECT_GE(runs, 15);
  EXPECT_LE(runs, 20);
  EXPECT_EQ(pausing.dones, 1);
  EXPECT_EQ(pausing.rows.size(), 0u);
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorContract, OpsCanBeRunAgain) {
  TableSlot &slot = this->opened();
  HeardReply &found = this->find(slot, this->key("5", Comparison::at_least, 3));
  HeardReply &answered = this->answer(Failure::none);
  this->run();
  const auto before = found.rows;
  found.restart();
  answered.restart();
  this->run();
  EXPECT_EQ(found.rows, before);
  EXPECT_EQ(found.dones, 1);
  EXPECT_EQ(answered.dones, 1);
}

TYPED_TEST_P(ExecutorContract, IdleLetsDdlThrough) {
  TableSlot &slot = this->opened();
  HeardReply &found = this->find(slot, this->key("5"));
  this->run_all();
  EXPECT_EQ(found.rows.size(), 1u);
  this->executor_->idle();
  this->fixture_.drop_table();
}

TYPED_TEST_P(ExecutorContract, AnotherExecutorServesTheSlotsOfThisOne) {
  // That is how a connection goes to the slow lane: the slots stay the worker's.
  TableSlot &slot = this->opened();
  const std::unique_ptr<Executor> other = this->fixture_.attach();
  ASSERT_NE(other, nullptr);
  HeardReply &found = this->find(slot, this->key("5"));
  other->run(this->batch_.ops());
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"5"});
  this->batch_.clear();
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorContract, NoKeyAtAllFindsEveryRow, OnlyTheWholeKeyIsTheKey,
                            RunsOpsInOrderAndEachIsDoneOnce, OpensAndFindsInOneRun, OpensFailEachInItsWay,
                            AFailedOpenFailsWhatActsOnIt, AFailedReopenKeepsTheOld, ABindingRemembersItsNames,
                            FindsByEveryComparison, NullIsAKeyAndSortsFirst, LimitAndOffsetCountWhatPassesTheFilters,
                            FiltersSkipStopAndKnowNull, InListsReadEveryRowOfEachOrTheFirst, FindsFailEachInItsWay,
                            WhatDoesNotFitItsColumnEqualsNoRow, ATableThatIsGoneIsNamed,
                            ABusyTableLeavesNothingWrittenAndNeighboursGoOn,
                            WhatIsTooMuchForATurnIsPausedAndTheRestWaits, AReplyMayPauseAFindInAFastTurn,
                            AResumedFindEqualsAnUninterruptedOne, AFindWithoutMatchesAsksItsReplyWhetherToGoOn,
                            OpsCanBeRunAgain, IdleLetsDdlThrough, AnotherExecutorServesTheSlotsOfThisOne);

}  // namespace postern
