// Which connections of a turn wait for the disk, without sockets.
#include "door/turn.h"

#include <gtest/gtest.h>

#include "contract/server_session.h"
#include "door/connection.h"
#include "door/testing/fake_server.h"
#include "net/plain_channel.h"
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
  Connection make() { return {nullptr, descriptors::Held(), protocol_, true, Connection::Tls{}, sleepers_}; }

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
  FakeServerState state_;
  FakeServerSession session_{state_};
  const FakePlan reads_{false};
  const FakePlan writes_{true};
  Turn turn_;
};

TEST_F(TurnTest, PutsStatementsThatCommitBehindThoseThatRead) {
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
