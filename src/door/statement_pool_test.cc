// Clients that each have a server session: the server runs statements that no worker answers on a thread of the pool,
// and the worker has the connection again between two commands.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "door/testing/fake_server.h"
#include "door/testing/toy.h"

namespace postern::door {
namespace {

class StatementPoolTest : public DoorTest {
 protected:
  void open() {
    door_ = std::make_unique<Door>(options_, server_, engine_, Access::read);
    std::string error;
    ASSERT_TRUE(door_->start(error)) << error;
  }
  ~StatementPoolTest() override {
    state_.let_go = true;
    door_.reset();  // before its protocol
  }
  Client greeted() {
    Client client = connect();
    EXPECT_EQ(client.read(6), "hello\n");
    return client;
  }

  FakeServer server_;
  FakeServerState &state_ = server_.state;
};

TEST_F(StatementPoolTest, TheServerGreetsAndServesOneCommandAfterTheOther) {
  open();
  Client client = greeted();
  client.send("say a\nsay b\nsay");
  EXPECT_EQ(client.read(4), "a\nb\n");
  client.send(" c\n");
  EXPECT_EQ(client.read(2), "c\n");
  EXPECT_TRUE(eventually([this] { return count(Counter::statements_served) == 3; }));
  EXPECT_EQ(count(Counter::logins), 1u);
}

TEST_F(StatementPoolTest, AStatementThatIsServedAwayIsReceivedOnce) {
  engine_.commits_wait = true;
  options_.threads = 1;
  open();
  Client other = greeted();
  Client client = greeted();
  const uint64_t before = count(Counter::receives);
  constexpr uint64_t statements = 20;
  for (uint64_t i = 0; i < statements; ++i) {
    client.send("write\n");
    EXPECT_EQ(client.read(8), "written\n");
  }
  EXPECT_TRUE(eventually([this] { return count(Counter::statements_served) == statements; }));
  EXPECT_LT(count(Counter::receives) - before, statements * 3 / 2);  // one may be the greeting's
}

TEST_F(StatementPoolTest, TheServerAnswersARefusedClient) {
  state_.lets_in = false;
  open();
  Client client = connect();
  EXPECT_EQ(client.read(8), "go away\n");
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(eventually([this] { return count(Counter::logins_failed) == 1; }));
  EXPECT_EQ(state_.ended, 1);
}

TEST_F(StatementPoolTest, TheRosterShowsTheCurrentAccount) {
  open();
  Client client = greeted();
  const auto account = [this] {
    const std::vector<ConnectionNotes> all = door_->roster().all();
    return all.empty() ? "nobody" : all.front().account;
  };
  EXPECT_TRUE(eventually([&] { return account() == "alice"; }));
  EXPECT_EQ(door_->roster().all().front().id, 4'711u);
  client.send("become bob\n");
  EXPECT_EQ(client.read(3), "ok\n");
  EXPECT_TRUE(eventually([&] { return account() == "bob"; })) << account();
  EXPECT_EQ(door_->roster().all().front().id, 4'711u);
}

TEST_F(StatementPoolTest, WhatWaitsHoldsNobodyElse) {
  open();
  std::vector<Client> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(greeted());
    waiting.back().send("hold\n");
  }
  EXPECT_TRUE(eventually([this] { return state_.holding == 20; }));
  Client client = greeted();
  client.send("say a\n");
  EXPECT_EQ(client.read(2), "a\n");
  state_.let_go = true;
  for (Client &one : waiting) EXPECT_EQ(one.read(5), "held\n");
}

TEST_F(StatementPoolTest, AStopInterruptsStatementsAndEndsAllSessions) {
  open();
  Client waits = greeted();
  Client idle = greeted();
  waits.send("hold\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  EXPECT_LT(stop_ms(), soon_ms);
  EXPECT_TRUE(waits.closed());
  EXPECT_TRUE(idle.closed());
  EXPECT_EQ(state_.ended, 2);
}

TEST_F(StatementPoolTest, ASessionThatEndsItselfClosesItsConnection) {
  open();
  Client client = greeted();
  client.send("quit\n");
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(eventually([this] { return door_->connections() == 0; }));
  EXPECT_EQ(state_.ended, 1);
}

TEST_F(StatementPoolTest, EachSessionSaysHowLongItMayBeSilent) {
  state_.idle_limit_ms = 3'600'000;
  open();
  Client patient = greeted();
  EXPECT_TRUE(eventually([this] { return door_->roster().all().front().doing == Doing::idle; }));
  state_.idle_limit_ms = 50;
  Client silent = greeted();
  EXPECT_TRUE(silent.closed());
  EXPECT_EQ(state_.timed_out, 1);
  patient.send("say a\n");
  EXPECT_EQ(patient.read(2), "a\n");
}

}  // namespace
}  // namespace postern::door
