// The handling of a turn's requests, without a worker: sockets, and an executor that the test controls.
#include "door/turn_runs.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "door/testing/parts_of_worker.h"
#include "door/testing/toy_engine.h"

namespace postern::door {
namespace {

/// Carries out runs, except for ops that it is to leave; notes their sizes.
class PickyExecutor final : public Executor {
 public:
  Settlement run(const Run &run) override {
    runs.push_back(run.ops.size());
    if (before_run) before_run();
    const size_t done = run.ops.size() - leaves;
    for (Op &op : run.ops.first(done)) {
      op.reply->done({});
      op.progress = Progress::done;
      if (run.watcher != nullptr) run.watcher->op_done(op);
    }
    for (Op &op : run.ops.subspan(done)) op.progress = Progress::busy;
    return {};
  }
  void idle() noexcept override {}
  bool server_stopping() noexcept override { return false; }
  int64_t row_wait_ms() noexcept override { return 0; }
  void describe(Bytes) noexcept override {}

  size_t leaves = 0;  ///< ops at the end of a run
  std::function<void()> before_run;
  std::vector<size_t> runs;
};

/// Writes a word, or reports that there was no memory.
class Word final : public Reply {
 public:
  Word(Output &output, Bytes word) : output_(output), word_(word) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    output_.put(outcome.failure == Failure::out_of_memory ? Bytes("no memory\n") : word_);
  }
  void restart() override {}

 private:
  Output &output_;
  const Bytes word_;
};

struct Nowhere final : Home {
  void return_connection(std::unique_ptr<Connection>) noexcept override {}
  void return_writes(std::unique_ptr<WriteJob>) noexcept override {}
};

/// Keeps the connections that have left a turn.
struct OnlyDoor final : WayOut {
  void leave_turn(Connection &connection) override {
    if (is_full) throw std::bad_alloc();
    left.push_back(&connection);
  }
  bool is_full = false;
  std::vector<Connection *> left;
};

class TurnRunsTest : public PartsOfWorkerTest {
 protected:
  explicit TurnRunsTest(bool writes = true)
      : connections_({.options = options_,
                      .protocol = ping_,
                      .statements = statements_,
                      .poller = poller_,
                      .doorbell = doorbell_,
                      .counters = counters_,
                      .guard = guard_}),
        runs_({.options = options_,
               .engine = engine_,
               .write_lane = nullptr,
               .writes = writes,
               .connections = connections_,
               .home = home_,
               .way_out = door_,
               .counters = counters_,
               .guard = guard_}) {
    connections_.set_time(1);
    connections_.resume();
    runs_.begin(0);
  }
  ~TurnRunsTest() override { connections_.close_all(); }

  /// A client of this turn. `peer` is its end.
  Connection &come(net::Fd &peer) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    peer.reset(ends[0]);
    std::unique_ptr<Connection> made = connections_.make(net::AnyChannel(net::Fd(ends[1])), {}, true, *roster_);
    Connection &connection = *made;
    connections_.count_one();
    connections_.add(std::move(made));
    return connection;
  }
  /// Adds an op to the connection for each word.
  void ask(Connection &connection, Verb verb, std::initializer_list<Bytes> words) {
    Batch &batch = runs_.turn().batch();
    const Turn::Slice slice = runs_.turn().begin(connection, number_++);
    for (const Bytes word : words) {
      Op &op = batch.add();
      op.verb = verb;
      op.reply = batch.arena().make<Word>(connection.output, word);
    }
    runs_.turn().add(slice);
  }
  static std::string heard(const net::Fd &peer) {
    char text[100];
    const ssize_t bytes = ::recv(peer.get(), text, sizeof text, 0);
    return {text, static_cast<size_t>(std::max<ssize_t>(bytes, 0))};
  }

  ToyEngine engine_;
  Nowhere home_;
  OnlyDoor door_;
  const Roster::Owner roster_ = Roster::make();
  WorkerConnections connections_;
  TurnRuns runs_;
  PickyExecutor executor_;
  uint32_t number_ = 0;
};

TEST_F(TurnRunsTest, ReadersHaveTheirRepliesWhenTheWritersAreRun) {
  net::Fd writer;
  net::Fd reader;
  ask(come(writer), Verb::insert, {"written\n"});
  ask(come(reader), Verb::find, {"found\n"});
  std::string read;
  executor_.before_run = [&] {
    if (executor_.runs.size() == 2) read = heard(reader);
  };
  runs_.run(executor_, 1);
  EXPECT_EQ(executor_.runs, (std::vector<size_t>{1, 1}));
  EXPECT_EQ(read, "found\n");
  connections_.finish();
  EXPECT_EQ(heard(writer), "written\n");
}

TEST_F(TurnRunsTest, WhatALastOpHasWrittenLeavesBeforeTheNextClientsOpsAreDone) {
  net::Fd one;
  net::Fd other;
  ask(come(one), Verb::find, {"a\n", "b\n"});
  ask(come(other), Verb::find, {"c\n"});
  executor_.leaves = 1;
  runs_.run(executor_, 1);
  EXPECT_EQ(executor_.runs, (std::vector<size_t>{3})) << "one run for both";
  EXPECT_EQ(heard(one), "a\nb\n");
  EXPECT_EQ(heard(other), "");
}

TEST_F(TurnRunsTest, WhatIsLeftGoesAwayWithItsConnection) {
  net::Fd peer;
  Connection &connection = come(peer);
  ask(connection, Verb::find, {"first\n", "second\n"});
  executor_.leaves = 1;
  runs_.run(executor_, 1);
  EXPECT_EQ(door_.left, std::vector{&connection});
  ASSERT_TRUE(connection.has_put_off());
  EXPECT_EQ(connection.put_off().ops.size(), 1u);
  connections_.finish();
  EXPECT_EQ(heard(peer), "first\n") << "which is answered";
}

TEST_F(TurnRunsTest, WhatCannotLeaveForWantOfMemoryIsRefused) {
  net::Fd peer;
  ask(come(peer), Verb::find, {"first\n", "second\n", "third\n"});
  executor_.leaves = 2;
  door_.is_full = true;
  runs_.run(executor_, 1);
  connections_.finish();
  EXPECT_EQ(heard(peer), "first\nno memory\nno memory\n");
  EXPECT_EQ(counters_.get(Counter::requests_failed), 2u);
}

TEST_F(TurnRunsTest, AStatementThatCannotLeaveForWantOfMemoryEndsItsConnection) {
  net::Fd peer;
  Connection &connection = come(peer);
  ask(connection, Verb::statement, {"first\n", "second\n"});
  const Statement statement;
  for (Op &op : runs_.turn().batch().ops()) op.statement = &statement;
  executor_.leaves = 1;
  door_.is_full = true;
  runs_.run(executor_, 1);
  EXPECT_TRUE(connection.is_dead()) << "or the next answer would be the second";
  connections_.finish();
  const std::string_view answers = "first\nsecond\n";
  EXPECT_TRUE(answers.starts_with(heard(peer)));
}

class ReadOnlyTurnRunsTest : public TurnRunsTest {
 protected:
  ReadOnlyTurnRunsTest() : TurnRunsTest(false) {}
};

TEST_F(ReadOnlyTurnRunsTest, WhereNobodyWritesATurnIsOneRun) {
  net::Fd one;
  net::Fd other;
  ask(come(one), Verb::find, {"a\n"});
  ask(come(other), Verb::find, {"b\n"});
  runs_.run(executor_, 1);
  EXPECT_EQ(executor_.runs, (std::vector<size_t>{2}));
  connections_.finish();
  EXPECT_EQ(heard(one), "a\n");
  EXPECT_EQ(heard(other), "b\n");
}

}  // namespace
}  // namespace postern::door
