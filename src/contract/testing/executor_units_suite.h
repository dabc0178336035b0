// executor_units_suite.h: the promises about units with writes, see executor_contract_suite.h.
#pragma once

#include "contract/testing/executor_find_units_suite.h"

namespace postern {

template <class Fixture>
class ExecutorUnits : public UnitsTest<Fixture> {
 protected:
  HeardReply &insert_row(TableSlot &slot, std::string_view id, std::string_view v = "new") {
    return this->insert(slot, {Value::of(this->batch_.arena().copy(id)), Value::of(this->batch_.arena().copy(v))});
  }
  HeardReply &rename(TableSlot &slot, const Find &find) {
    return this->edit(slot, find, [](Row, Draft &next) {
      next.set(1, Value::of("renamed"));
      return Decision::write;
    });
  }
};

TYPED_TEST_SUITE_P(ExecutorUnits);

TYPED_TEST_P(ExecutorUnits, AUnitIsDoneAsAWholeAndItsFindsSeeWhatItWrote) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(true);
  HeardReply &first = this->insert_row(slot, "1001");
  HeardReply &second = this->rename(slot, this->key("5"));
  HeardReply &found = this->find(slot, this->key("1001"));
  HeardReply &many = this->rename(slot, this->key("98", Comparison::at_least, 10));
  this->batch_.end_unit();
  this->run_unit();
  EXPECT_EQ(first.changed, 1u);
  EXPECT_EQ(second.changed, 1u);
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"1001"});
  EXPECT_EQ(many.changed, 4u) << "98 to 100, and 1001";
  EXPECT_LT(first.order, second.order);
  EXPECT_LT(second.order, found.order);
  EXPECT_LT(found.order, many.order);
  EXPECT_EQ(this->stored(5, 5), std::vector<std::string>{"5 renamed 0"});
  EXPECT_EQ(this->stored(1000, 1001), std::vector<std::string>{"1001 renamed NULL"});
}

TYPED_TEST_P(ExecutorUnits, NothingOfAnAtomicUnitStaysIfAnOpOfItFails) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(true);
  HeardReply *const replies[] = {
      &this->insert_row(slot, "1001"), &this->rename(slot, this->key("98", Comparison::at_least, 10)),
      &this->find(slot, this->key("5")), &this->insert_row(slot, "5"), &this->insert_row(slot, "1002")};
  this->batch_.end_unit();
  this->run_unit();
  for (const HeardReply *const reply : replies) {
    EXPECT_EQ(reply->failure, Failure::duplicate_key);
    EXPECT_EQ(reply->dones, 1);
    EXPECT_TRUE(reply->rows.empty());
  }
  for (size_t i = 1; i < std::size(replies); ++i) EXPECT_LT(replies[i - 1]->order, replies[i]->order);
  EXPECT_EQ(this->stored(99, 2000), (std::vector<std::string>{"99 v99 9", "100 v100 10"}));
}

TYPED_TEST_P(ExecutorUnits, AnAtomicUnitMayNotMeetItsOwnRow) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(true);
  HeardReply &first = this->insert_row(slot, "1001");
  HeardReply &second = this->insert_row(slot, "1001");
  this->batch_.end_unit();
  this->run_unit();
  EXPECT_EQ(first.failure, Failure::duplicate_key);
  EXPECT_EQ(second.failure, Failure::duplicate_key);
  EXPECT_TRUE(this->stored(1000, 2000).empty());
}

TYPED_TEST_P(ExecutorUnits, OfAUnitThatIsNotAtomicTheFailedOpsAloneAreUndone) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(false);
  HeardReply &first = this->insert_row(slot, "1001");
  HeardReply &duplicate = this->insert_row(slot, "5");
  HeardReply &found = this->find(slot, this->key("1001"));
  HeardReply &own = this->insert_row(slot, "1001");
  HeardReply &last = this->rename(slot, this->key("1001"));
  this->batch_.end_unit();
  this->run_unit();
  EXPECT_EQ(first.failure, Failure::none);
  EXPECT_EQ(duplicate.failure, Failure::duplicate_key);
  EXPECT_EQ(found.firsts(), std::vector<std::string>{"1001"});
  EXPECT_EQ(own.failure, Failure::duplicate_key);
  EXPECT_EQ(last.changed, 1u);
  for (const HeardReply *const reply : {&first, &duplicate, &found, &own, &last}) EXPECT_EQ(reply->dones, 1);
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1001 renamed NULL"});
  EXPECT_EQ(this->stored(5, 5), std::vector<std::string>{"5 v5 0"});
}

TYPED_TEST_P(ExecutorUnits, InATurnAUnitThatWritesIsLeftAndItsNeighboursGoOn) {
  TableSlot &slot = this->opened();
  this->batch_.begin(1);
  this->answer(Failure::none);
  this->batch_.begin_unit(true);
  HeardReply &found = this->find(slot, this->key("1"));
  HeardReply &written = this->insert_row(slot, "1001");
  this->batch_.end_unit();
  HeardReply &behind = this->find(slot, this->key("2"));
  this->batch_.begin(2);
  HeardReply &neighbour = this->insert_row(slot, "1002");
  this->run_turn();
  this->expect_progress(
      {Progress::done, Progress::needs_own_run, Progress::waiting, Progress::waiting, Progress::done});
  for (const HeardReply *const reply : {&found, &written, &behind}) EXPECT_EQ(reply->dones, 0);
  EXPECT_EQ(neighbour.changed, 1u);
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1002 new NULL"});
}

TYPED_TEST_P(ExecutorUnits, AReplyThatMayGrowNoMoreFailsInAUnit) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(true);
  HeardReply &written = this->insert_row(slot, "1001");
  HeardReply &scan = this->find(slot, this->key("0", Comparison::at_least, 1'000));
  this->batch_.end_unit();
  scan.pause_after = 5;
  this->run_unit();
  EXPECT_EQ(scan.failure, Failure::reply_too_large);
  EXPECT_EQ(written.failure, Failure::reply_too_large);
  EXPECT_TRUE(this->stored(1000, 2000).empty());
}

TYPED_TEST_P(ExecutorUnits, AUnitWhoseTableIsHeldIsLeftAsAWhole) {
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.hold_table(true);
  this->batch_.begin_unit(false);
  HeardReply &answered = this->answer(Failure::none);
  HeardReply &written = this->insert_row(slot, "1001");
  HeardReply &renamed = this->rename(slot, this->key("5"));
  this->batch_.end_unit();
  const Run run{.ops = this->batch_.ops(), .units = this->batch_.units(), .lane = Lane::alone};
  EXPECT_TRUE(this->executor_->run(run).lasted());
  this->expect_progress({Progress::busy, Progress::waiting, Progress::waiting});
  for (const HeardReply *const reply : {&answered, &written, &renamed}) EXPECT_EQ(reply->dones, 0);
  this->fixture_.hold_table(false);
  this->run_unit();
  for (const HeardReply *const reply : {&answered, &written, &renamed}) EXPECT_EQ(reply->dones, 1);
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1001 new NULL"});
}

TYPED_TEST_P(ExecutorUnits, AUnitMayBeLargerThanABatch) {
  TableSlot &slot = this->opened();
  this->batch_.begin_unit(true);
  std::vector<HeardReply *> replies;
  for (uint32_t i = 0; i < limits::ops_per_connection_max + 50; ++i)
    replies.push_back(&this->insert_row(slot, std::to_string(1'000 + i)));
  this->batch_.end_unit();
  this->run_unit();
  for (const HeardReply *const reply : replies) EXPECT_EQ(reply->changed, 1u);
  EXPECT_EQ(this->stored(1'000, 9'999).size(), replies.size());
}

TYPED_TEST_P(ExecutorUnits, UnitsOfOneConnectionRunInTheirOrder) {
  TableSlot &slot = this->opened();
  for (const std::string_view id : {"1001", "1002"}) {
    this->batch_.begin_unit(true);
    this->insert_row(slot, id);
    this->find(slot, this->key("1001", Comparison::at_least, 10));
    this->batch_.end_unit();
  }
  this->run_turn();
  this->expect_progress({Progress::needs_own_run, Progress::waiting, Progress::waiting, Progress::waiting});
  const std::span<Op> ops = this->batch_.ops();
  const Unit unit{0, 2, true};
  for (const size_t first : {0, 2}) {
    const Run run{.ops = ops.subspan(first, 2), .units = {&unit, 1}, .lane = Lane::alone};
    EXPECT_TRUE(this->executor_->run(run).lasted());
  }
  EXPECT_EQ(static_cast<HeardReply *>(ops[1].reply)->firsts(), std::vector<std::string>{"1001"});
  EXPECT_EQ(static_cast<HeardReply *>(ops[3].reply)->firsts(), (std::vector<std::string>{"1001", "1002"}));
  this->batch_.clear();
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorUnits, AUnitIsDoneAsAWholeAndItsFindsSeeWhatItWrote,
                            NothingOfAnAtomicUnitStaysIfAnOpOfItFails, AnAtomicUnitMayNotMeetItsOwnRow,
                            OfAUnitThatIsNotAtomicTheFailedOpsAloneAreUndone,
                            InATurnAUnitThatWritesIsLeftAndItsNeighboursGoOn, AReplyThatMayGrowNoMoreFailsInAUnit,
                            AUnitWhoseTableIsHeldIsLeftAsAWhole, AUnitMayBeLargerThanABatch,
                            UnitsOfOneConnectionRunInTheirOrder);

}  // namespace postern
