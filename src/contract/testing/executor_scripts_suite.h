// executor_scripts_suite.h: the promises about scripts and locks, see executor_contract_suite.h.
#pragma once

#include "contract/script.h"
#include "contract/testing/executor_test_fixture.h"

namespace postern {

using What = Script::Step::What;

/// Asks a test for its steps, by their number from 0.
class TestScript final : public Script {
 public:
  using Tell = std::function<Step(int)>;
  explicit TestScript(Tell tell) : tell_(std::move(tell)) {}
  Step begin() override {
    ++begins;
    at_ = 0;
    return next();
  }
  Step next() override {
    const Step step = tell_(at_++);
    for (const Op &op : step.ops) op.reply->restart();
    return step;
  }
  bool suits_turn() const override { return suits; }
  Joins joins() const override { return joined; }
  Joins joined = Joins::none;
  int begins = 0;
  bool suits = false;  ///< a turn

 private:
  Tell tell_;
  int at_ = 0;
};

/// What tests of scripts do with an executor of any engine.
template <class Fixture>
class ScriptTest : public ExecutorTest<Fixture> {
 protected:
  using Strings = std::vector<std::string>;
  using Steps = std::vector<Script::Step>;

  HeardReply &insert_row(TableSlot &slot, std::string_view id, std::string_view v = "new") {
    return this->insert(slot, {Value::of(this->batch_.arena().copy(id)), Value::of(this->batch_.arena().copy(v))});
  }
  HeardReply &rename(TableSlot &slot, const Find &find, std::string_view v = "renamed") {
    return this->edit(slot, find, [v](Row, Draft &next) {
      next.set(1, Value::of(v));
      return Decision::write;
    });
  }
  HeardReply &lock(TableSlot &slot, const Find &find) {
    HeardReply &reply = this->find(slot, find);
    this->batch_.ops().back().verb = Verb::lock;
    return reply;
  }
  /// The ops added so far become a step of a script.
  Script::Step step() {
    const std::span<Op> ops = this->batch_.ops();
    steps_.emplace_back(ops.begin(), ops.end());
    this->batch_.truncate(0);
    return {What::run, steps_.back()};
  }
  /// Adds the op of a script.
  HeardReply &script(Script &script) {
    HeardReply &reply = this->heard();
    Op op;
    op.verb = Verb::script;
    op.reply = &reply;
    op.script = &script;
    this->batch_.add(op);
    return reply;
  }
  /// One that takes these steps whatever they come to.
  TestScript &script_of(Steps steps) {
    return scripts_.emplace_back([steps = std::move(steps)](int at) { return steps[static_cast<size_t>(at)]; });
  }
  /// Runs the only script that was added as the slow lane does.
  Settlement run_script() {
    std::unique_ptr<Position> position;
    Op &op = this->batch_.ops()[0];
    op.position = &position;
    return this->executor_->run({.ops = {&op, 1}, .lane = Lane::alone});
  }
  /// The same, which must do it.
  void do_script(Script &its) {
    HeardReply &reply = script(its);
    const Settlement settlement = run_script();
    EXPECT_TRUE(settlement.lasted()) << settlement.message;
    EXPECT_EQ(this->batch_.ops()[0].progress, Progress::done);
    EXPECT_EQ(reply.failure, Failure::none);
    EXPECT_EQ(reply.dones, 1);
    this->batch_.truncate(0);
  }

 private:
  std::deque<std::vector<Op>> steps_;
  std::deque<TestScript> scripts_;
};

template <class Fixture>
class ExecutorScripts : public ScriptTest<Fixture> {};

TYPED_TEST_SUITE_P(ExecutorScripts);

TYPED_TEST_P(ExecutorScripts, AScriptSaysItsNextStepWhenItHasHeardOfTheLast) {
  TableSlot &slot = this->opened();
  HeardReply *locked = &this->lock(slot, this->key("5"));
  const Script::Step first = this->step();
  HeardReply *inserted = nullptr;
  HeardReply *found = nullptr;
  TestScript its([&](int at) -> Script::Step {
    if (at == 0) return first;
    if (at == 2) return {What::commit};
    EXPECT_EQ(locked->dones, 1);
    inserted = &this->insert_row(slot, "1001", *locked->rows.at(0).at(1) + " again");
    this->rename(slot, this->key("5"));
    found = &this->find(slot, this->key("1001"));
    return this->step();
  });
  HeardReply &reply = this->script(its);
  const std::vector<Op> op(this->batch_.ops().begin(), this->batch_.ops().end());
  this->batch_.truncate(0);
  std::vector<Op> running = op;
  EXPECT_TRUE(this->executor_->run({.ops = running, .lane = Lane::alone}).lasted());
  EXPECT_EQ(running[0].progress, Progress::done);
  EXPECT_EQ(inserted->changed, 1u);
  EXPECT_EQ(found->firsts(), std::vector<std::string>{"1001"}) << "a find sees what its script wrote";
  EXPECT_EQ(reply.dones, 1);
  EXPECT_EQ(reply.failure, Failure::none);
  EXPECT_GT(reply.order, found->order);
  EXPECT_EQ(this->stored(5, 5), std::vector<std::string>{"5 renamed 0"});
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1001 v5 again NULL"});
}

TYPED_TEST_P(ExecutorScripts, AStepThatFailsIsUndoneByItselfAndTheScriptGoesOn) {
  TableSlot &slot = this->opened();
  this->insert_row(slot, "1001");
  const Script::Step first = this->step();
  HeardReply &undone = this->insert_row(slot, "1002");
  HeardReply &many = this->rename(slot, this->key("98", Comparison::at_least, 10));
  HeardReply &failed = this->insert_row(slot, "5");
  HeardReply &behind = this->insert_row(slot, "1004");
  const Script::Step second = this->step();
  HeardReply &last = this->insert_row(slot, "1003");
  const Script::Step third = this->step();
  this->do_script(this->script_of({first, second, third, {What::commit}}));
  for (const HeardReply *const reply : {&undone, &many, &failed, &behind}) {
    EXPECT_EQ(reply->failure, Failure::duplicate_key);
    EXPECT_EQ(reply->dones, 1);
  }
  EXPECT_EQ(last.changed, 1u);
  EXPECT_EQ(this->stored(99, 2000),
            (std::vector<std::string>{"99 v99 9", "100 v100 10", "1001 new NULL", "1003 new NULL"}));
}

TYPED_TEST_P(ExecutorScripts, NothingStaysOfAScriptThatIsUndone) {
  TableSlot &slot = this->opened();
  this->insert_row(slot, "1001");
  const Script::Step first = this->step();
  this->rename(slot, this->key("5"));
  const Script::Step second = this->step();
  this->do_script(this->script_of({first, second, {What::undo}}));
  EXPECT_EQ(this->stored(5, 5), std::vector<std::string>{"5 v5 0"});
  EXPECT_TRUE(this->stored(1000, 2000).empty());
}

TYPED_TEST_P(ExecutorScripts, BackLeavesWhatWasDoneBeforeTheMark) {
  TableSlot &slot = this->opened();
  const auto inserting = [&](std::string_view id, std::string_view v) {
    this->insert_row(slot, id, v);
    return this->step();
  };
  const auto erasing = [&](std::string_view id) {
    this->edit(
        slot, this->key(id), [](Row, Draft &) { return Decision::erase; }, false, true);
    return this->step();
  };
  this->do_script(this->script_of({{What::mark},
                                   inserting("1000", "gone"),
                                   {What::back},
                                   inserting("1001", "stays"),
                                   {What::mark},
                                   inserting("1002", "gone"),
                                   erasing("5"),
                                   {What::back},
                                   {What::back},
                                   inserting("1002", "stays"),
                                   erasing("6"),
                                   {What::commit}}));
  EXPECT_EQ(this->stored(5, 7), (std::vector<std::string>{"5 v5 0", "7 v7 NULL"}));
  EXPECT_EQ(this->stored(1000, 2000), (std::vector<std::string>{"1001 stays NULL", "1002 stays NULL"}));
}

TYPED_TEST_P(ExecutorScripts, InATurnAScriptIsLeftAndItsNeighboursGoOn) {
  TableSlot &slot = this->opened();
  this->insert_row(slot, "1001");
  TestScript &its = this->script_of({this->step(), {}});
  this->batch_.begin(1);
  HeardReply &left = this->script(its);
  HeardReply &behind = this->find(slot, this->key("1"));
  this->batch_.begin(2);
  HeardReply &locked = this->lock(slot, this->key("1"));
  this->batch_.begin(3);
  HeardReply &neighbour = this->insert_row(slot, "1002");
  this->run();
  const std::span<Op> ops = this->batch_.ops();
  EXPECT_EQ(ops[0].progress, Progress::needs_own_run);
  EXPECT_EQ(ops[1].progress, Progress::waiting);
  EXPECT_EQ(ops[2].progress, Progress::needs_own_run);
  EXPECT_EQ(ops[3].progress, Progress::done);
  EXPECT_EQ(left.dones + behind.dones + locked.dones, 0);
  EXPECT_EQ(its.begins, 0);
  EXPECT_EQ(neighbour.changed, 1u);
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1002 new NULL"});
}

TYPED_TEST_P(ExecutorScripts, InATurnAScriptThatSuitsItSharesItsTransaction) {
  TableSlot &slot = this->opened();
  HeardReply &locked = this->lock(slot, this->key("5"));
  HeardReply &many = this->rename(slot, this->key("98", Comparison::at_least, 10));
  const Script::Step first = this->step();
  this->insert_row(slot, "1003");
  HeardReply &failed = this->insert_row(slot, "6");
  const Script::Step second = this->step();
  TestScript &its = this->script_of({first, second, {}});
  its.suits = true;
  this->batch_.begin(1);
  HeardReply &before = this->insert_row(slot, "1001");
  HeardReply &done = this->script(its);
  HeardReply &behind = this->find(slot, this->key("98"));
  this->batch_.begin(2);
  this->batch_.begin_unit(true);
  this->find(slot, this->key("1"));
  this->insert_row(slot, "1004");
  this->batch_.end_unit();
  this->batch_.begin(3);
  HeardReply &neighbour = this->insert_row(slot, "1002");
  EXPECT_TRUE(this->executor_->run({.ops = this->batch_.ops(), .units = this->batch_.units()}).lasted());
  const std::span<Op> ops = this->batch_.ops();
  for (const size_t at : {0, 1, 2, 5}) EXPECT_EQ(ops[at].progress, Progress::done) << at;
  EXPECT_EQ(ops[3].progress, Progress::needs_own_run);
  EXPECT_EQ(ops[4].progress, Progress::waiting);
  EXPECT_EQ(before.changed, 1u);
  EXPECT_EQ(locked.firsts(), std::vector<std::string>{"5"});
  EXPECT_EQ(many.changed, 4u);
  EXPECT_EQ(failed.failure, Failure::duplicate_key);
  EXPECT_EQ(done.dones, 1);
  EXPECT_EQ(behind.rows.at(0).at(1), "renamed");
  EXPECT_EQ(neighbour.changed, 1u);
  this->batch_.clear();
  EXPECT_EQ(this->stored(98, 2000), (std::vector<std::string>{"98 renamed NULL", "99 renamed 9", "100 renamed 10",
                                                              "1001 renamed NULL", "1002 new NULL"}));
}

TYPED_TEST_P(ExecutorScripts, LastStepsOfSeveralScriptsAreDoneEachOrFailEach) {
  TableSlot &slot = this->opened();
  struct Added {
    uint32_t connection;
    std::string_view id;
    std::string_view renamed;
  };
  std::vector<HeardReply *> replies;
  const auto run_all = [&](const std::vector<Added> &added) {
    std::vector<TestScript *> scripts;
    for (const Added &one : added) {
      this->insert_row(slot, one.id);
      this->rename(slot, this->key(one.renamed), one.id);
      Script::Step last = this->step();
      last.last = true;
      scripts.push_back(&this->script_of({last, {}}));
      scripts.back()->suits = true;
      scripts.back()->joined = Script::Joins::all;
    }
    for (size_t i = 0; i < added.size(); ++i) {
      this->batch_.begin(added[i].connection);
      replies.push_back(&this->script(*scripts[i]));
    }
    EXPECT_TRUE(this->executor_->run({.ops = this->batch_.ops()}).lasted());
    for (const Op &op : this->batch_.ops()) EXPECT_EQ(op.progress, Progress::done);
    this->batch_.truncate(0);
  };
  run_all({{1, "1001", "5"}, {1, "1002", "6"}, {2, "1003", "5"}, {3, "1004", "7"}});
  run_all({{1, "2001", "5"}, {1, "2002", "6"}, {2, "6", "5"}, {3, "2004", "7"}});  // there is a row 6
  for (const HeardReply *const reply : replies) EXPECT_EQ(reply->dones, 1);
  EXPECT_EQ(this->stored(5, 7), (std::vector<std::string>{"5 2001 0", "6 2002 0", "7 2004 NULL"}));
  EXPECT_EQ(this->stored(1000, 3000),
            (std::vector<std::string>{"1001 new NULL", "1002 new NULL", "1003 new NULL", "1004 new NULL",
                                      "2001 new NULL", "2002 new NULL", "2004 new NULL"}));
}

TYPED_TEST_P(ExecutorScripts, AnEditOfTheRowThatItsStepHasLockedWritesOrErasesIt) {
  TableSlot &slot = this->opened();
  const auto decide = [&](std::string_view id, Decision decision) {
    EditRows rows{.find = this->key(id)};
    HeardReply &reply = this->edit(slot, rows.find, [decision](Row row, Draft &next) {
      next.set(1, row[0]);
      return decision;
    });
    rows = *this->batch_.ops().back().edit;
    rows.erases = rows.writes_too = rows.same_row = true;
    this->batch_.ops().back().edit = this->batch_.arena().template make<EditRows>(rows);
    return &reply;
  };
  this->lock(slot, this->key("5"));
  const HeardReply *const written = decide("5", Decision::write);
  decide("6", Decision::keep);
  const HeardReply *const erased = decide("6", Decision::erase);
  this->lock(slot, this->key("7"));
  this->lock(slot, this->key("1001"));
  const HeardReply *const missed = decide("1001", Decision::erase);
  this->do_script(this->script_of({this->step(), {}}));
  EXPECT_EQ(written->changed, 1u);
  EXPECT_EQ(erased->changed, 1u);
  EXPECT_EQ(missed->changed, 0u);
  EXPECT_EQ(this->stored(5, 7), (std::vector<std::string>{"5 5 0", "7 v7 NULL"}));
}

TYPED_TEST_P(ExecutorScripts, WhatIsTooMuchForATurnIsLeftWithItsScript) {
  this->fixture_.make_table(static_cast<int>(limits::find_rows_fast_max) + 100);
  TableSlot &slot = this->opened();
  HeardReply &all = this->rename(slot, this->key("0", Comparison::at_least, 1'000'000));
  TestScript &its = this->script_of({this->step(), {}});
  its.suits = true;
  this->batch_.begin(1);
  this->script(its);
  HeardReply &behind = this->find(slot, this->key("1"));
  this->batch_.begin(2);
  HeardReply &neighbour = this->find(slot, this->key("1"));
  this->run();
  const std::span<Op> ops = this->batch_.ops();
  EXPECT_EQ(ops[0].progress, Progress::needs_own_run);
  EXPECT_EQ(ops[1].progress, Progress::waiting);
  EXPECT_EQ(ops[2].progress, Progress::done);
  EXPECT_EQ(behind.dones, 0);
  EXPECT_EQ(neighbour.rows.at(0).at(1), "v1");
  EXPECT_TRUE(this->executor_->run({.ops = ops.first(1), .lane = Lane::alone}).lasted());
  EXPECT_EQ(all.changed, limits::find_rows_fast_max + 100);
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorScripts, AScriptThatMemoryIsWantingForLeavesNothingOfItsRun) {
  TableSlot &slot = this->opened();
  for (const bool in_a_turn : {false, true}) {
    this->insert_row(slot, "1001");
    const Script::Step first = this->step();
    bool wanting = true;
    TestScript its([&](int at) {
      if (at == 1 && wanting) throw std::bad_alloc();
      return at == 0 ? first : Script::Step{};
    });
    its.suits = in_a_turn;
    if (in_a_turn) this->insert_row(slot, "1002");
    HeardReply &done = this->script(its);
    const std::span<Op> ops = this->batch_.ops();
    const Run run{.ops = ops, .lane = in_a_turn ? Lane::turn : Lane::alone};
    const Settlement lost = this->executor_->run(run);
    EXPECT_EQ(lost.failure, Failure::out_of_memory);
    EXPECT_TRUE(lost.repeatable);
    EXPECT_EQ(done.dones, 0);
    EXPECT_TRUE(this->stored(1000, 2000).empty());
    for (const Op &op : ops) op.reply->restart();
    wanting = false;
    EXPECT_TRUE(this->executor_->run(run).lasted());
    EXPECT_EQ(this->stored(1000, 2000).size(), in_a_turn ? 2u : 1u);
    this->batch_.truncate(0);
    this->edit(
        slot, this->key("1001", Comparison::at_least, 10), [](Row, Draft &) { return Decision::erase; }, false, true);
    EXPECT_TRUE(this->executor_->run({.ops = this->batch_.ops(), .lane = Lane::alone}).lasted());
    this->batch_.truncate(0);
  }
}

TYPED_TEST_P(ExecutorScripts, AScriptWhoseTableIsHeldIsLeftAndBeginsAnew) {
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.hold_table(true);
  this->answer(Failure::none);
  const Script::Step first = this->step();
  this->insert_row(slot, "1001");
  this->rename(slot, this->key("5"));
  const Script::Step second = this->step();
  TestScript &its = this->script_of({first, second, {}});
  HeardReply &reply = this->script(its);
  EXPECT_TRUE(this->run_script().lasted());
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::busy);
  EXPECT_EQ(reply.dones, 0);
  this->fixture_.hold_table(false);
  EXPECT_TRUE(this->run_script().lasted());
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::done);
  EXPECT_EQ(reply.dones, 1);
  EXPECT_EQ(its.begins, 2);
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1001 new NULL"});
}

TYPED_TEST_P(ExecutorScripts, AnEditMayRefuseAndItsStepFails) {
  TableSlot &slot = this->opened();
  const auto refuse = [](Row, Draft &) { return Decision::refuse; };
  this->insert_row(slot, "1001");
  HeardReply &edited = this->edit(slot, this->key("5"), refuse);
  const Script::Step first = this->step();
  this->insert_row(slot, "1002");
  HeardReply &decided = this->decide(slot, {Value::of("5"), Value::of("five")}, refuse);
  const Script::Step second = this->step();
  HeardReply &met = this->decide(slot, {Value::of("1003"), Value::of("new")}, refuse);
  const Script::Step third = this->step();
  this->do_script(this->script_of({first, second, third, {}}));
  EXPECT_EQ(edited.failure, Failure::refused);
  EXPECT_EQ(decided.failure, Failure::refused);
  EXPECT_EQ(met.changed, 1u);
  EXPECT_EQ(this->stored(5, 5), std::vector<std::string>{"5 v5 0"});
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1003 new NULL"});
}

TYPED_TEST_P(ExecutorScripts, AnEditMayAskForItsScriptWhichIsRunInItsPlace) {
  TableSlot &slot = this->opened();
  this->insert_row(slot, "1001", "of the script");
  TestScript &its = this->script_of({this->step(), {}});
  int asked = 0;
  const auto ask = [&asked](Row, Draft &) {
    ++asked;
    return Decision::alone;
  };
  HeardReply &edited = this->edit(slot, this->key("5"), ask);
  const_cast<EditRows *>(this->batch_.ops()[0].edit)->script = &its;
  this->batch_.begin(2);
  HeardReply &decided = this->decide(slot, {Value::of("6"), Value::of("six")}, ask);
  const_cast<Insert *>(this->batch_.ops()[1].insert)->script = &its;
  this->run();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(edited.dones + decided.dones, 0);
  for (Op &op : this->batch_.ops()) EXPECT_EQ(op.progress, Progress::needs_own_run);
  EXPECT_EQ(its.begins, 0);
  Op alone = this->batch_.ops()[0];
  EXPECT_TRUE(this->executor_->run({.ops = {&alone, 1}, .lane = Lane::alone}).lasted());
  EXPECT_EQ(alone.progress, Progress::done);
  EXPECT_EQ(its.begins, 1);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(edited.dones, 1);
  EXPECT_EQ(edited.failure, Failure::none);
  EXPECT_EQ(this->stored(5, 6), (std::vector<std::string>{"5 v5 0", "6 v6 0"}));
  EXPECT_EQ(this->stored(1000, 2000), std::vector<std::string>{"1001 of the script NULL"});
}

TYPED_TEST_P(ExecutorScripts, ALockFindsWhatAFindDoes) {
  TableSlot &slot = this->opened();
  for (const bool locks : {false, true}) {
    const auto look = [&](const Find &find) -> HeardReply & {
      return locks ? this->lock(slot, find) : this->find(slot, find);
    };
    this->batch_.begin_unit(true);
    HeardReply &one = look(this->key("5"));
    HeardReply &none = look(this->key("1001"));
    HeardReply &some = look(this->key("97", Comparison::greater, 100));
    Find skipping = this->key("10", Comparison::less, 2);
    skipping.offset = 3;
    HeardReply &down = look(skipping);
    this->rename(slot, this->key("5"));
    this->batch_.end_unit();
    const Run run{.ops = this->batch_.ops(), .units = this->batch_.units(), .lane = Lane::alone};
    EXPECT_TRUE(this->executor_->run(run).lasted());
    EXPECT_EQ(one.rows.size(), 1u);
    EXPECT_EQ(one.counted, 1u);
    EXPECT_EQ(one.columns, 2u);
    EXPECT_TRUE(none.rows.empty());
    EXPECT_EQ(none.failure, Failure::none);
    EXPECT_EQ(some.firsts(), (std::vector<std::string>{"98", "99", "100"}));
    EXPECT_EQ(down.firsts(), (std::vector<std::string>{"6", "5"}));
    this->batch_.clear();
  }
  this->lock(slot, this->key("5"));
  this->run(Lane::alone);
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::done);
  this->batch_.clear();
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorScripts, AScriptSaysItsNextStepWhenItHasHeardOfTheLast,
                            AStepThatFailsIsUndoneByItselfAndTheScriptGoesOn, NothingStaysOfAScriptThatIsUndone,
                            BackLeavesWhatWasDoneBeforeTheMark, InATurnAScriptIsLeftAndItsNeighboursGoOn,
                            InATurnAScriptThatSuitsItSharesItsTransaction, WhatIsTooMuchForATurnIsLeftWithItsScript,
                            AScriptThatMemoryIsWantingForLeavesNothingOfItsRun,
                            AScriptWhoseTableIsHeldIsLeftAndBeginsAnew, AnEditMayRefuseAndItsStepFails,
                            AnEditMayAskForItsScriptWhichIsRunInItsPlace, ALockFindsWhatAFindDoes,
                            LastStepsOfSeveralScriptsAreDoneEachOrFailEach,
                            AnEditOfTheRowThatItsStepHasLockedWritesOrErasesIt);

}  // namespace postern
