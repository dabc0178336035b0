// executor_find_units_suite.h: the promises about units of finds, and helpers for tests of units.
#pragma once

#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class UnitsTest : public ExecutorTest<Fixture> {
 protected:
  /// Runs the only unit that was added as the slow lane does, and forgets it.
  void run_unit() {
    const Settlement settlement =
        this->executor_->run({.ops = this->batch_.ops(), .units = this->batch_.units(), .lane = Lane::alone});
    EXPECT_TRUE(settlement.lasted()) << settlement.message;
    for (const Op &op : this->batch_.ops()) EXPECT_EQ(op.progress, Progress::done);
    this->batch_.clear();
  }
  void run_turn() {
    EXPECT_TRUE(this->executor_->run({.ops = this->batch_.ops(), .units = this->batch_.units()}).lasted());
  }
  void expect_progress(std::vector<Progress> expected) {
    const std::span<Op> ops = this->batch_.ops();
    ASSERT_EQ(ops.size(), expected.size());
    for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(ops[i].progress, expected[i]) << i;
  }
};

template <class Fixture>
class ExecutorFindUnits : public UnitsTest<Fixture> {};

TYPED_TEST_SUITE_P(ExecutorFindUnits);

TYPED_TEST_P(ExecutorFindUnits, InATurnAUnitOfFindsIsHeardOfWhenItIsDone) {
  TableSlot &slot = this->opened();
  TableSlot &closed = this->slot();
  this->batch_.begin_unit(false);
  HeardReply &first = this->find(slot, this->key("1"));
  HeardReply &failed = this->find(closed, this->key("1"));
  this->batch_.end_unit();
  this->batch_.begin_unit(true);
  HeardReply &third = this->find(slot, this->key("3"));
  HeardReply &fourth = this->find(closed, this->key("4"));
  this->batch_.end_unit();
  struct Listener final : Watcher {
    void op_done(const Op &) override { dones.push_back(second->dones); }
    const HeardReply *second = nullptr;
    std::vector<int> dones;
  } listener;
  listener.second = &failed;
  const Run run{.ops = this->batch_.ops(), .units = this->batch_.units(), .watcher = &listener};
  EXPECT_TRUE(this->executor_->run(run).lasted());
  EXPECT_EQ(listener.dones, (std::vector<int>{1, 1, 1, 1})) << "of none before the second was done";
  EXPECT_EQ(first.firsts(), std::vector<std::string>{"1"});
  EXPECT_EQ(failed.failure, Failure::not_open);
  EXPECT_EQ(third.failure, Failure::not_open);
  EXPECT_TRUE(third.rows.empty());
  EXPECT_EQ(fourth.failure, Failure::not_open);
  this->expect_progress({Progress::done, Progress::done, Progress::done, Progress::done});
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorFindUnits, AUnitOfFindsThatIsTooMuchForATurnIsLeftAsAWhole) {
  const auto rows = limits::find_rows_fast_max + 100;
  this->fixture_.make_table(static_cast<int>(rows));
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(false);
  HeardReply &first = this->find(slot, this->key("1"));
  HeardReply &scan = this->find(slot, this->key("0", Comparison::at_least, 1'000'000));
  this->batch_.end_unit();
  this->run_turn();
  this->expect_progress({Progress::needs_own_run, Progress::waiting});
  EXPECT_EQ(first.dones, 0);
  EXPECT_TRUE(first.rows.empty());
  scan.restart();
  this->run_unit();
  EXPECT_EQ(first.firsts(), std::vector<std::string>{"1"});
  EXPECT_EQ(scan.rows.size(), rows);
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorFindUnits, InATurnAUnitOfFindsIsHeardOfWhenItIsDone,
                            AUnitOfFindsThatIsTooMuchForATurnIsLeftAsAWhole);

}  // namespace postern
