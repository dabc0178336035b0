// Which connections of a turn wait for the disk, without sockets.
#include "door/connections/turn.h"

#include <gtest/gtest.h>

#include "contract/server_session.h"
#include "door/connections/connection.h"
#include "door/testing/fake_server.h"
#include "ping/ping.h"

namespace postern::door {
namespace {

class FakePlan final : public Plan {
 public:
  explicit FakePlan(bool writes) : writes_(writes) {}
  uint32_t values() const override { return 0; }
  bool writes() const override { return writes_; }

 private:
  const bool writes_;
};

class TurnTest : public ::testing::Test {
 protected:
  Connection make() {
    return {net::AnyChannel(net::Fd()), descriptors::Held(), protocol_, true, Connection::Tls{}, sleepers_, *roster_};
  }

  void add(Connection &connection, const Statement &statement) {
    const Turn::Slice slice = turn_.begin(connection, 0);
    Op &op = turn_.batch().add();
    op.verb = Verb::statement;
    op.statement = &statement;
    turn_.add(slice);
  }

  ping::Ping protocol_;
  net::WakeFd doorbell_;
  Sleepers sleepers_{doorbell_};
  const Roster::Owner roster_ = Roster::make();
  FakeServerState state_;
  FakeServerSession session_{state_};
  const FakePlan reads_{false};
  const FakePlan writes_{true};
  Turn turn_;
};

TEST_F(TurnTest, PutsStatementsThatCommitAfterReaders) {
  const Statement write{.session = &session_, .plan = &writes_};
  const Statement read{.session = &session_, .plan = &reads_};
  const Statement served{.session = &session_};
  Connection a = make(), b = make(), c = make(), d = make();
  add(a, write);
  add(b, read);
  add(c, write);
  add(d, served);
  EXPECT_EQ(turn_.put_readers_first(), 2u);
  EXPECT_EQ(turn_.slices()[0].connection, &b);
  EXPECT_EQ(turn_.slices()[1].connection, &d) << "the server will serve it, elsewhere";
  EXPECT_EQ(turn_.slices()[2].connection, &a);
  EXPECT_EQ(turn_.slices()[3].connection, &c);
}

/// Carries out the run, and then reports that it is lost and whether it may be repeated.
class LosingExecutor final : public Executor {
 public:
  explicit LosingExecutor(bool repeatable) : repeatable_(repeatable) {}

  Settlement run(const Run &run) override {
    ++runs;
    for (Op &op : run.ops) {
      op.reply->done({});
      op.progress = Progress::done;
    }
    return {.failure = Failure::outcome_unknown, .message = "during COMMIT", .repeatable = repeatable_};
  }
  void idle() noexcept override {}
  bool server_stopping() noexcept override { return false; }
  int64_t row_wait_ms() noexcept override { return 0; }
  void describe(Bytes) noexcept override {}

  int runs = 0;

 private:
  const bool repeatable_;
};

class HearingReply final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override { heard.push_back(outcome.failure); }
  void restart() override { heard.clear(); }

  std::vector<Failure> heard;
};

TEST_F(TurnTest, FailsRequestsThatMayNotBeRunAgain) {
  Connection connection = make();
  HearingReply reply;
  HearingReply reader;
  const Turn::Slice slice = turn_.begin(connection, 0);
  Op &write = turn_.batch().add();
  write.verb = Verb::insert;
  write.reply = &reply;
  Op &read = turn_.batch().add();
  read.verb = Verb::find;
  read.reply = &reader;
  turn_.add(slice);
  Counters counters;
  LosingExecutor unsure(false);
  turn_.run(unsure, turn_.slices(), nullptr, counters);
  EXPECT_EQ(unsure.runs, 1);
  EXPECT_EQ(reply.heard, std::vector{Failure::outcome_unknown});
  EXPECT_EQ(reader.heard, std::vector{Failure::commit_failed}) << "which it may ask again after";
  EXPECT_EQ(turn_.batch().ops()[0].progress, Progress::done);
  EXPECT_EQ(counters.get(Counter::requests_failed), 2u);
}

TEST_F(TurnTest, LeavesRequestsThatAreLostAgainToTheSlowLane) {
  Connection connection = make();
  HearingReply reply;
  const Turn::Slice slice = turn_.begin(connection, 0);
  turn_.batch().add().reply = &reply;
  turn_.add(slice);
  Counters counters;
  LosingExecutor losing(true);
  turn_.run(losing, turn_.slices(), nullptr, counters);
  EXPECT_EQ(losing.runs, 2);
  EXPECT_TRUE(reply.heard.empty());
  EXPECT_EQ(turn_.batch().ops()[0].progress, Progress::waiting);
  EXPECT_EQ(counters.get(Counter::requests_failed), 0u);
}

TEST_F(TurnTest, KnowsThatATransactionCommitsLater) {
  state_.in_transaction = true;
  const Statement write{.session = &session_, .plan = &writes_};
  Connection a = make(), b = make();
  add(a, write);
  add(b, write);
  EXPECT_EQ(turn_.put_readers_first(), 2u);
}

}  // namespace
}  // namespace postern::door
