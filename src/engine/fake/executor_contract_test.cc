// The contract's suite over the fake engine, and features of that engine alone.
#include "contract/testing/executor_contract_suite.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/fake/fake_engine.h"

namespace postern {
namespace {

struct FakeFixture {
  static constexpr const char *unknown_database = "1146 42S02";
  static constexpr const char *no_number_state = "22007";
  std::unique_ptr<Executor> attach() { return engine.attach({}, stop); }
  void make_table(int rows) {
    using Type = FakeEngine::Type;
    engine.create("contract", "t", {{"id", Type::integer, false}, {"v", Type::text}, {"n"}},
                  {{"PRIMARY", {"id"}}, {"n", {"n"}}, {"v", {"v"}}});
    for (int i = 1; i <= rows; ++i) {
      const FakeEngine::Cell n = i % 7 == 0 ? FakeEngine::Cell{} : std::to_string(i / 10);
      engine.insert("contract", "t", {std::to_string(i), "v" + std::to_string(i), n});
    }
  }
  void hold_table(bool hold) { engine.set_busy("contract", "t", hold); }
  void drop_table() {
    EXPECT_EQ(engine.busy_executors(), 0u);
    engine.drop("contract", "t");
  }

  FakeEngine engine;
  std::atomic<bool> stop{false};
};

INSTANTIATE_EXECUTOR_CONTRACT(Fake, FakeFixture);

TEST(FakeEngine, NotifiesEveryExecutorThatTheServerStops) {
  FakeEngine engine;
  const std::atomic<bool> stop{false};
  const int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const std::unique_ptr<Executor> executor = engine.attach({.wake_fd = wake_fd}, stop);
  EXPECT_FALSE(executor->server_stopping());
  engine.stop();
  EXPECT_TRUE(executor->server_stopping());
  uint64_t woken = 0;
  EXPECT_EQ(read(wake_fd, &woken, sizeof woken), static_cast<ssize_t>(sizeof woken));
  EXPECT_EQ(engine.attach({}, stop), nullptr);
  close(wake_fd);
}

TEST(FakeEngine, DoesNotAttachAStoppingThread) {
  FakeEngine engine;
  const std::atomic<bool> stop{true};
  EXPECT_EQ(engine.attach({}, stop), nullptr);
}

TEST(FakeEngine, CountsItsWork) {
  FakeFixture fixture;
  fixture.make_table(10);
  Counters counters;
  const std::unique_ptr<Executor> executor = fixture.engine.attach({.counters = &counters}, fixture.stop);
  const Names names{"contract", "t", "PRIMARY", {"id"}};
  const TableSpec spec = names.spec();
  const Value key[] = {Value::of("4")};
  const Find find{.comparison = Comparison::at_least, .key = key, .limit = 100};
  TableSlot slot;
  HeardReply replies[3];
  Op ops[3];
  ops[0].verb = Verb::open, ops[0].slot = &slot, ops[0].spec = &spec;
  ops[1].verb = Verb::find, ops[1].slot = &slot, ops[1].find = &find;
  ops[2].failure = Failure::unknown_command;
  for (int i = 0; i < 3; ++i) ops[i].reply = &replies[i];
  executor->run({.ops = ops});
  EXPECT_EQ(counters.get(Counter::requests_open), 1u);
  EXPECT_EQ(counters.get(Counter::requests_find), 1u);
  EXPECT_EQ(counters.get(Counter::requests_other), 1u);
  EXPECT_EQ(counters.get(Counter::requests_failed), 1u);
  EXPECT_EQ(counters.get(Failure::unknown_command), 1u);
  EXPECT_EQ(counters.get(Counter::rows_sent), 7u);
  EXPECT_EQ(counters.get(Counter::batches), 1u);
}

TEST(FakeEngine, RefusesKeyValuesThatAreNoBytesAsAServerWould) {
  FakeFixture fixture;
  fixture.make_table(10);
  const std::unique_ptr<Executor> executor = fixture.attach();
  const Names names{"contract", "t", "PRIMARY", {"id"}};
  const TableSpec spec = names.spec();
  const Value number[] = {Value::of_natural(4)};
  const Value text[] = {Value::of("4")};
  const Find finds[] = {{.key = number},
                        {.comparison = Comparison::at_least, .until = number},
                        {.key = text, .in_list = number},
                        {.key = text}};
  TableSlot slot;
  HeardReply replies[5];
  Op ops[5];
  ops[0].verb = Verb::open, ops[0].slot = &slot, ops[0].spec = &spec;
  for (int i = 1; i < 5; ++i) ops[i].verb = Verb::find, ops[i].slot = &slot, ops[i].find = &finds[i - 1];
  for (int i = 0; i < 5; ++i) ops[i].reply = &replies[i];
  executor->run({.ops = ops});
  for (int i = 1; i < 4; ++i) EXPECT_EQ(replies[i].failure, Failure::internal) << i;
  EXPECT_EQ(replies[4].failure, Failure::none);
}

TEST(FakeEngine, KeepsOneBindingForAnOpenThatRunsTwice) {
  FakeFixture fixture;
  fixture.make_table(1);
  const std::unique_ptr<Executor> executor = fixture.attach();
  TableSlot slot;
  const Names names{"contract", "t", "PRIMARY", {"id"}};
  const TableSpec spec = names.spec();
  HeardReply reply;
  Op op;
  op.verb = Verb::open, op.slot = &slot, op.spec = &spec, op.reply = &reply;
  executor->run({.ops = {&op, 1}});
  reply.restart();
  executor->run({.ops = {&op, 1}});
  EXPECT_EQ(fixture.engine.bindings(), 1u);
  fixture.engine.drop("contract", "t");
  reply.restart();
  executor->run({.ops = {&op, 1}});
  EXPECT_EQ(reply.failure, Failure::no_table);
  EXPECT_FALSE(slot.filled());
  EXPECT_EQ(fixture.engine.bindings(), 0u);
}

TEST(FakeEngine, ADecisionOfALostRunIsMadeAnew) {
  FakeFixture fixture;
  fixture.make_table(10);
  fixture.engine.set_faults({.seed = 7, .lost = 600});
  const std::unique_ptr<Executor> executor = fixture.attach();
  TableSlot slot;
  const Names names{"contract", "t", "PRIMARY", {"id", "v", "n"}, {}, 1};
  const TableSpec spec = names.spec();
  HeardReply opened;
  Op open;
  open.verb = Verb::open, open.slot = &slot, open.spec = &spec, open.reply = &opened;
  executor->run({.ops = {&open, 1}});
  TestEdit edit([](Row, Draft &next) {
    next.extend(1, "+", false);
    next.add(2, Value::of_integer(1), false);
    return Decision::write;
  });
  const Value values[] = {Value::of("11"), Value::of("new"), Value::of("0")};
  const Insert insert{values, OnDuplicate::decide, &edit, true};
  int lost = 0;
  for (int i = 0; i < 20; ++i) {
    HeardReply reply;
    Op op;
    op.verb = Verb::insert, op.slot = &slot, op.insert = &insert, op.reply = &reply;
    while (!executor->run({.ops = {&op, 1}}).lasted()) {
      ++lost;
      reply.restart();
    }
    EXPECT_EQ(reply.changed, i == 0 ? 1u : 2u);
  }
  EXPECT_GT(lost, 0);
  EXPECT_EQ(fixture.engine.rows("contract", "t").back(),
            (std::vector<FakeEngine::Cell>{"11", "new" + std::string(19, '+'), "19"}));
}

TEST(FakeEngine, AUnitWhoseRunIsLostLeavesNothing) {
  FakeFixture fixture;
  fixture.make_table(10);
  fixture.engine.set_faults({.seed = 3, .lost = 700});
  const std::unique_ptr<Executor> executor = fixture.attach();
  TableSlot slot;
  const Names names{"contract", "t", "PRIMARY", {"id", "v"}, {}};
  const TableSpec spec = names.spec();
  HeardReply replies[3];
  Op ops[3];
  ops[0].verb = Verb::open, ops[0].slot = &slot, ops[0].spec = &spec;
  const Value rows[][1] = {{Value::of("11")}, {Value::of("12")}};
  const Insert inserts[] = {{rows[0]}, {rows[1]}};
  for (int i = 0; i < 3; ++i) ops[i].reply = &replies[i];
  for (int i = 1; i < 3; ++i) ops[i].verb = Verb::insert, ops[i].slot = &slot, ops[i].insert = &inserts[i - 1];
  const Unit unit{0, 3, true};
  int lost = 0;
  while (!executor->run({.ops = ops, .units = {&unit, 1}, .lane = Lane::alone}).lasted()) {
    EXPECT_EQ(fixture.engine.rows("contract", "t").size(), 10u);
    for (HeardReply &reply : replies) reply.restart();
    ++lost;
  }
  EXPECT_GT(lost, 0);
  EXPECT_EQ(fixture.engine.rows("contract", "t").size(), 12u);
  for (const HeardReply &reply : replies) EXPECT_EQ(reply.dones, 1);
}

TEST(FakeEngine, MisbehavesTheSameWayForTheSameSeed) {
  const auto outcomes = [] {
    FakeFixture fixture;
    fixture.make_table(10);
    fixture.engine.set_faults({.seed = 42, .busy = 200, .pause = 100, .error = 200});
    const std::unique_ptr<Executor> executor = fixture.attach();
    TableSlot slot;
    const Names names{"contract", "t", "PRIMARY", {"id"}};
    const TableSpec spec = names.spec();
    const Value key[] = {Value::of("4")};
    const Find find{.comparison = Comparison::equal, .key = key};
    std::string seen;
    for (int i = 0; i < 100; ++i) {
      HeardReply reply;
      Op op;
      op.verb = slot.filled() ? Verb::find : Verb::open;
      op.slot = &slot;
      if (slot.filled()) op.find = &find;
      else op.spec = &spec;
      op.reply = &reply;
      executor->run({.ops = {&op, 1}});
      seen += std::to_string(static_cast<int>(op.progress)) + std::string(failure_name(reply.failure));
    }
    return seen;
  };
  const std::string first = outcomes();
  EXPECT_EQ(first, outcomes());
  EXPECT_NE(first.find("engine_error"), std::string::npos);
}

}  // namespace
}  // namespace postern
