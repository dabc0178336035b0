#include "engine/sql/run_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace postern::sql {
namespace {

/// How a reply has ended since its last restart().
struct Noted final : Reply {
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    ++dones;
    failure = outcome.failure;
  }
  void restart() override {
    dones = 0;
    failure = Failure::none;
  }
  int dones = 0;
  Failure failure = Failure::none;
};

/// Handles each op as the test says, and records the calls.
struct Hands {
  struct Fate {
    Progress progress = Progress::done;
    Failure failure = Failure::none;
    bool loses = false;
  };

  void execute_next(Op &op) {
    const size_t at = static_cast<size_t>(&op - ops.data());
    log += std::to_string(at);
    const Fate &fate = fates[at];
    op.progress = fate.progress;
    is_lost = fate.loses;
    if (op.progress == Progress::done && !fate.loses) op.reply->done({.failure = fate.failure});
  }
  void pass_by(std::span<const Op> passed) {
    for (const Op &op : passed) log += "-" + std::to_string(&op - ops.data());
  }
  bool lost() const { return is_lost; }
  bool can_undo() const { return undoes; }
  bool write_any(std::span<const Op> some) const {
    return std::any_of(some.begin(), some.end(), [](const Op &op) { return writes(op.verb); });
  }
  Counters *counters() const { return nullptr; }

  std::vector<Op> ops;
  std::vector<Noted> replies;
  std::map<size_t, Fate> fates;
  std::string log;
  bool undoes = true;
  bool is_lost = false;
};

class RunOrderTest : public testing::Test {
 protected:
  struct Watching final : Watcher {
    void op_done(const Op &op) override { heard += std::to_string(&op - first); }
    const Op *first = nullptr;
    std::string heard;
  };

  /// One op for each letter of `connections`.
  void make(Bytes connections, Verb verb = Verb::find) {
    hands_.ops.resize(connections.size());
    hands_.replies.resize(connections.size());
    for (size_t i = 0; i < connections.size(); ++i) {
      hands_.ops[i].verb = verb;
      hands_.ops[i].connection = static_cast<uint32_t>(connections[i]);
      hands_.ops[i].reply = &hands_.replies[i];
      hands_.ops[i].progress = Progress::paused;  // left by an earlier run
    }
    watcher_.first = hands_.ops.data();
  }
  void execute(std::vector<Unit> units = {}) {
    units_ = std::move(units);
    hands_.log.clear();
    order_.begin();
    order_.execute_all(run(), &watcher_);
  }
  postern::Run run() { return {.ops = hands_.ops, .units = units_}; }
  Progress progress(size_t at) const { return hands_.ops[at].progress; }

  Hands hands_;
  RunOrder<Hands> order_{hands_};
  Watching watcher_;
  std::vector<Unit> units_;
};

TEST_F(RunOrderTest, OpsAfterOneThatIsLeftWaitAndOtherConnectionsGoOn) {
  make("abab");
  hands_.fates[0].progress = Progress::busy;
  execute();
  EXPECT_EQ(hands_.log, "01-23");
  EXPECT_EQ(progress(0), Progress::busy);
  EXPECT_EQ(progress(2), Progress::waiting);
  EXPECT_EQ(watcher_.heard, "13");
  hands_.fates.clear();
  execute();
  EXPECT_EQ(hands_.log, "0123");
}

TEST_F(RunOrderTest, ALostTransactionEndsTheRun) {
  make("abc");
  hands_.fates[1].loses = true;
  execute();
  EXPECT_EQ(hands_.log, "01");
}

TEST_F(RunOrderTest, AUnitThatWritesIsLeftWhereItSharesATransaction) {
  make("aab", Verb::insert);
  execute({{.first = 0, .count = 2}});
  EXPECT_EQ(hands_.log, "-0-12");
  EXPECT_EQ(progress(0), Progress::needs_own_run);
  EXPECT_EQ(progress(1), Progress::waiting);
  EXPECT_EQ(hands_.replies[0].dones + hands_.replies[1].dones, 0);
  EXPECT_EQ(watcher_.heard, "2");
}

TEST_F(RunOrderTest, AUnitOfWhichOneOpIsLeftIsLeftAsAWhole) {
  make("aaa");
  hands_.fates[1].progress = Progress::paused;
  execute({{.first = 0, .count = 3}});
  EXPECT_EQ(hands_.log, "01-2");
  EXPECT_EQ(progress(0), Progress::needs_own_run) << "it cannot go on where it was";
  EXPECT_EQ(progress(1), Progress::waiting);
  EXPECT_EQ(hands_.replies[0].dones, 0);
  hands_.fates[1].progress = Progress::locked;
  execute({{.first = 0, .count = 3}});
  EXPECT_EQ(progress(0), Progress::locked);
}

TEST_F(RunOrderTest, AllRepliesOfAnAtomicUnitHearTheFirstFailure) {
  make("aaa", Verb::insert);
  hands_.fates[1].failure = Failure::duplicate_key;
  units_ = {{.first = 0, .count = 3, .atomic = true}};
  RunOrder<Hands>::OwnUnit unit(order_, hands_.ops);
  order_.execute_all(run(), nullptr);
  EXPECT_EQ(hands_.log, "01-2");
  EXPECT_EQ(order_.ends(), UnitEnds::roll_back);
  EXPECT_FALSE(unit.take_again());
  for (const Noted &reply : hands_.replies) {
    EXPECT_EQ(reply.dones, 1);
    EXPECT_EQ(reply.failure, Failure::duplicate_key);
  }
}

TEST_F(RunOrderTest, AUnitThatIsNotAtomicIsRunAgainWithoutItsFailedOps) {
  make("aaa", Verb::insert);
  hands_.fates[1].failure = Failure::duplicate_key;
  units_ = {{.first = 0, .count = 3, .atomic = false}};
  {
    RunOrder<Hands>::OwnUnit unit(order_, hands_.ops);
    EXPECT_TRUE(order_.in_own_unit());
    order_.execute_all(run(), nullptr);
    EXPECT_EQ(order_.ends(), UnitEnds::run_again);
    EXPECT_EQ(hands_.replies[0].dones, 0) << "it is undone, too";
    ASSERT_TRUE(unit.take_again());
    order_.execute_all(run(), nullptr);
    EXPECT_EQ(order_.ends(), UnitEnds::commit);
    EXPECT_FALSE(unit.take_again());
  }
  EXPECT_FALSE(order_.in_own_unit());
  EXPECT_EQ(hands_.log, "010-12");
  EXPECT_EQ(hands_.replies[0].failure, Failure::none);
  EXPECT_EQ(hands_.replies[1].failure, Failure::duplicate_key);
  for (const Noted &reply : hands_.replies) EXPECT_EQ(reply.dones, 1);
}

TEST_F(RunOrderTest, WhatCannotBeUndoneStaysAndTheRestIsDone) {
  make("aaa", Verb::insert);
  hands_.undoes = false;
  hands_.fates[1].failure = Failure::duplicate_key;
  units_ = {{.first = 0, .count = 3, .atomic = false}};
  const RunOrder<Hands>::OwnUnit unit(order_, hands_.ops);
  order_.execute_all(run(), nullptr);
  EXPECT_EQ(order_.ends(), UnitEnds::commit);
  EXPECT_EQ(hands_.log, "012");
}

}  // namespace
}  // namespace postern::sql
