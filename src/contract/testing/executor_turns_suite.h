// executor_turns_suite.h: the promises of executor.h about runs: their order, deferred and paused ops, and the rest.
#pragma once

#include "base/limits.h"
#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class ExecutorTurns : public ExecutorTest<Fixture> {};

TYPED_TEST_SUITE_P(ExecutorTurns);

TYPED_TEST_P(ExecutorTurns, RunsOpsInOrderAndEachIsDoneOnce) {
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

TYPED_TEST_P(ExecutorTurns, ABusyTableLeavesNothingWrittenAndNeighboursGoOn) {
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
  this->executor_->run({.ops = ops.subspan(1, 3)});
  this->executor_->run({.ops = ops.subspan(5, 1)});
  EXPECT_EQ(busy.firsts(), std::vector<std::string>{"1"});
  EXPECT_EQ(waiting.failure, Failure::unknown_command);
  EXPECT_EQ(waiting_too.firsts(), std::vector<std::string>{"2"});
  EXPECT_EQ(opening.failure, Failure::none);
  for (const HeardReply *reply : {&busy, &waiting, &waiting_too, &opening}) EXPECT_EQ(reply->dones, 1);
}

TYPED_TEST_P(ExecutorTurns, AStatementWithoutAPlanIsLeftAndNeighboursGoOn) {
  const Statement statement{.packet = "\1\0\0\0\16"};
  HeardReply left;
  this->batch_.begin(1);
  HeardReply &before = this->answer(Failure::none);
  Op &op = this->batch_.add();
  op.verb = Verb::statement;
  op.statement = &statement;
  op.reply = &left;
  HeardReply &behind = this->answer(Failure::none);
  this->batch_.begin(2);
  HeardReply &neighbour = this->answer(Failure::none);
  this->run();
  const Progress expected[] = {Progress::done, Progress::needs_own_run, Progress::waiting, Progress::done};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(this->batch_.ops()[i].progress, expected[i]) << i;
  EXPECT_EQ(before.dones + neighbour.dones, 2);
  EXPECT_EQ(left.dones + behind.dones, 0);
}

TYPED_TEST_P(ExecutorTurns, WhatIsTooMuchForATurnIsPausedAndTheRestWaits) {
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
  do this->executor_->run({.ops = ops.first(1), .lane = Lane::alone});
  while (ops[0].progress == Progress::paused);
  EXPECT_EQ(ops[0].progress, Progress::done);
  EXPECT_EQ(scan.rows.size(), rows);
  EXPECT_EQ(scan.counted, rows);
  EXPECT_EQ(scan.dones, 1);
  position.reset();
  ops[0].position = nullptr;
  this->executor_->run({.ops = ops.subspan(1, 1)});
  EXPECT_EQ(behind.firsts(), std::vector<std::string>{"2"});
}

TYPED_TEST_P(ExecutorTurns, AWatcherHearsOfWhatIsDoneAndOfNothingElse) {
  this->fixture_.make_table(static_cast<int>(limits::find_rows_fast_max + 100));
  TableSlot &slot = this->opened();
  this->batch_.begin(1);
  this->find(slot, this->key("3"));
  this->find(slot, this->key("0", Comparison::at_least, 1'000'000));
  this->answer(Failure::none);
  this->batch_.begin(2);
  this->answer(Failure::unknown_command);
  this->find(slot, this->key("4"));
  EXPECT_EQ(this->run_watched(), (std::vector<size_t>{0, 3, 4}));
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorTurns, AReplyMayPauseAFindInAFastTurn) {
  TableSlot &slot = this->opened();
  HeardReply &reply = this->find(slot, this->key("0", Comparison::at_least, 50));
  reply.pause_after = 10;
  this->run();
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::paused);
  EXPECT_EQ(reply.rows.size(), 10u);
  EXPECT_EQ(reply.dones, 0);
}

TYPED_TEST_P(ExecutorTurns, AResumedFindEqualsAnUninterruptedOne) {
  TableSlot &by_id = this->opened();
  TableSlot &by_n = this->opened({"contract", "t", "n", {"id", "v"}, {"n"}});
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
          this->run(Lane::alone);
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

TYPED_TEST_P(ExecutorTurns, AFindWithoutMatchesAsksItsReplyWhetherToGoOn) {
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
  this->run(Lane::alone);
  EXPECT_EQ(op.progress, Progress::done);
  EXPECT_GE(slow.looks, 15);
  EXPECT_LE(slow.looks, 20);
  EXPECT_EQ(slow.columns, 2u);

  position.reset();
  HeardReply &pausing = *static_cast<HeardReply *>(op.reply);
  pausing.restart();
  pausing.pause_at_looks = true;
  int runs = 0;
  do this->run(Lane::alone);
  while (op.progress == Progress::paused && ++runs < 100);
  EXPECT_EQ(op.progress, Progress::done);
  EXPECT_GE(runs, 15);
  EXPECT_LE(runs, 20);
  EXPECT_EQ(pausing.dones, 1);
  EXPECT_EQ(pausing.rows.size(), 0u);
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorTurns, OpsCanBeRunAgain) {
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

/// Whether or not an engine answers some of them with the answer to others.
TYPED_TEST_P(ExecutorTurns, EqualFindsAreAnsweredAlikeAndOthersNot) {
  TableSlot &by_id = this->opened();
  TableSlot &same = this->opened();
  TableSlot &names = this->opened({"contract", "t", "PRIMARY", {"v", "id"}, {"n"}});
  TableSlot &by_n = this->opened({"contract", "t", "n", {"id"}});
  const Filter not_five[] = {{.comparison = Comparison::unequal, .column = 0, .value = Value::of("5")}};
  const Value null[] = {Value::null()}, empty[] = {Value::of("")}, five[] = {Value::of("5")},
              fifty[] = {Value::of("50")};
  struct Asked {
    TableSlot &slot;
    Find find;
  };
  std::vector<Asked> asked;
  for (TableSlot *const slot : {&by_id, &same, &names, &by_n}) {
    const std::span<const Filter> filters = slot == &by_n ? std::span<const Filter>{} : not_five;
    for (const std::span<const Value> key : {std::span<const Value>(null), std::span<const Value>(empty),
                                             std::span<const Value>(five), std::span<const Value>(fifty)}) {
      asked.push_back({*slot, {.key = key}});
      asked.push_back({*slot, {.key = key, .limit = 3}});
      asked.push_back({*slot, {.key = key, .limit = 3, .offset = 1}});
      asked.push_back({*slot, {.key = key, .filters = filters}});
      asked.push_back({*slot, {.key = key, .in_list = fifty}});
      asked.push_back({*slot, {.comparison = Comparison::greater, .key = key}});
    }
  }
  std::vector<std::string> alone;
  for (const Asked &one : asked) {
    const HeardReply &reply = this->find(one.slot, one.find);
    this->run_all();
    alone.push_back(reply.text());
  }
  for (int run = 0; run < 3; ++run) {
    std::vector<HeardReply *> replies;
    for (int i = 0; i < 4; ++i) {
      for (const Asked &one : asked) {
        replies.push_back(&this->find(one.slot, one.find));
        replies.back()->takes = replies.size() % 7 != 0;
      }
    }
    this->run_all();
    for (size_t i = 0; i < replies.size(); ++i) {
      EXPECT_EQ(replies[i]->text(), alone[i % alone.size()]) << i;
      EXPECT_EQ(replies[i]->dones, 1);
    }
  }
}

TYPED_TEST_P(ExecutorTurns, IdleLetsDdlThrough) {
  TableSlot &slot = this->opened();
  HeardReply &found = this->find(slot, this->key("5"));
  this->run_all();
  EXPECT_EQ(found.rows.size(), 1u);
  this->executor_->idle();
  this->fixture_.drop_table();
}

TYPED_TEST_P(ExecutorTurns, AnotherExecutorServesTheSlotsOfThisOne) {
  // That is how a connection goes to the slow lane: the slots stay the worker's.
  TableSlot &slot = this->opened();
  const std::unique_ptr<Executor> other = this->fixture_.attach();
  ASSERT_NE(other, nullptr);
  HeardReply &found = this->find(slot, this->key("5"));
  other->run({.ops = this->batch_.ops()});
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"5"});
  this->batch_.clear();
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorTurns, RunsOpsInOrderAndEachIsDoneOnce,
                            ABusyTableLeavesNothingWrittenAndNeighboursGoOn,
                            AStatementWithoutAPlanIsLeftAndNeighboursGoOn, AWatcherHearsOfWhatIsDoneAndOfNothingElse,
                            WhatIsTooMuchForATurnIsPausedAndTheRestWaits, AReplyMayPauseAFindInAFastTurn,
                            AResumedFindEqualsAnUninterruptedOne, AFindWithoutMatchesAsksItsReplyWhetherToGoOn,
                            OpsCanBeRunAgain, EqualFindsAreAnsweredAlikeAndOthersNot, IdleLetsDdlThrough,
                            AnotherExecutorServesTheSlotsOfThisOne);

}  // namespace postern
