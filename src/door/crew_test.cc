// Statements that run on the thread of the worker that has read them: its loop moves to another thread when they wait
// or last, so no other client waits for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "door/lanes/lasting_kinds.h"
#include "door/testing/fake_server.h"
#include "door/testing/toy.h"

namespace postern::door {
namespace {

class CrewTest : public DoorTest {
 protected:
  CrewTest() { options_.threads = 1; }
  ~CrewTest() override {
    state_.let_go = true;
    door_.reset();  // before its protocol
  }
  void open() {
    door_ = std::make_unique<Door>(options_, server_, engine_, Access::read);
    std::string error;
    ASSERT_TRUE(door_->start(error)) << error;
  }
  Client greeted() {
    Client client = connect();
    EXPECT_EQ(client.read(6), "hello\n");
    return client;
  }
  void expect_answered(Client &client) {
    client.send("say x\n");
    EXPECT_EQ(client.read(2), "x\n");
  }
  Crew::Figures figures() const { return door_->figures(); }
  bool eventually_counted(Counter row, uint64_t times) {
    return eventually([&] { return count(row) == times; });
  }

  FakeServer server_;
  FakeServerState &state_ = server_.state;
};

/// The number of sleeps of the thread that watches the workers.
uint64_t sleeps_of_watch() {
  for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (!name.ends_with(" watch")) continue;
    std::ifstream status(thread.path() / "status");
    constexpr std::string_view wanted = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(wanted)) return std::stoull(line.substr(wanted.size()));
  }
  return 0;
}

TEST_F(CrewTest, NobodyIsWokenToWatchClientsThatAskRarely) {
  open();
  std::vector<Client> clients;
  constexpr uint64_t statements = 20;
  const auto wakes = [&] {
    const uint64_t before = sleeps_of_watch();
    for (uint64_t i = 0; i < statements; ++i) {
      // Longer than the watch waits before it looks.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      expect_answered(clients.back());
    }
    return sleeps_of_watch() - before;
  };
  for (const int others : {0, 1}) {
    clients.push_back(greeted());
    expect_answered(clients.back());
    ASSERT_TRUE(eventually([] { return sleeps_of_watch() != 0; }));
    // On a busy machine a worker may finish a statement too late.
    uint64_t least = wakes();
    for (int i = 0; i < 20 && least > statements / 2; ++i) least = std::min(least, wakes());
    EXPECT_LE(least, statements / 2) << others << " others";
  }
}

TEST_F(CrewTest, WhoeverLastsIsSeenAmongShortStatementsOfSeveralWorkers) {
  options_.threads = 2;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(greeted());
  for (size_t round = 0; round < 30; ++round) {
    Client &lasts = clients[round % clients.size()];
    lasts.send("hold\n");
    EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
    for (Client &other : clients)
      if (&other != &lasts) expect_answered(other);
    state_.let_go = true;
    EXPECT_EQ(lasts.read(5), "held\n");
    state_.let_go = false;
    for (size_t i = 0; i < round % 7; ++i) expect_answered(clients[i % clients.size()]);
  }
}

TEST_F(CrewTest, WhoeverLastsIsSeenBesideAWorkerThatSleepsOften) {
  options_.threads = 2;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(greeted());
  std::atomic<bool> over{false};
  std::array<std::atomic<int>, 3> answered{};
  // At least one client shares the first one's worker, and one does not.
  std::vector<std::thread> askers;
  for (size_t i = 0; i < answered.size(); ++i)
    askers.emplace_back([this, &over, &client = clients[i + 1], &mine = answered[i]] {
      while (!over) {
        expect_answered(client);
        ++mine;
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  for (int round = 0; round < 20; ++round) {
    clients.front().send("hold\n");
    EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
    for (const std::atomic<int> &one : answered)
      EXPECT_TRUE(eventually([&, before = one.load()] { return one > before; }));
    state_.let_go = true;
    EXPECT_EQ(clients.front().read(5), "held\n");
    state_.let_go = false;
  }
  over = true;
  for (std::thread &asker : askers) asker.join();
}

TEST_F(CrewTest, AShortStatementIsServedWhereItWasRead) {
  open();
  Client one = greeted();
  Client other = greeted();
  for (int i = 0; i < 20; ++i) {
    expect_answered(one);
    expect_answered(other);
  }
  EXPECT_TRUE(eventually_counted(Counter::statements_served, 40));
  // One statement may have lasted, on a busy machine.
  EXPECT_GE(figures().in_place + figures().moved, 1u);
}

TEST_F(CrewTest, AStatementThatWaitsIsLeftAtOnceAndComesBack) {
  open();
  Client waits = greeted();
  Client other = greeted();
  waits.send("wait\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  expect_answered(other);
  expect_answered(other);
  state_.let_go = true;
  EXPECT_EQ(waits.read(5), "held\n");
  EXPECT_TRUE(eventually([this] { return figures().moved >= 1; }));
  expect_answered(waits);
  expect_answered(other);
}

TEST_F(CrewTest, AStatementThatLastsIsLeftWhenAnotherClientAsks) {
  open();
  Client lasts = greeted();
  Client other = greeted();
  lasts.send("hold\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  expect_answered(other);
  state_.let_go = true;
  EXPECT_EQ(lasts.read(5), "held\n");
  EXPECT_TRUE(eventually([this] { return figures().moved >= 1; }));
  expect_answered(lasts);
}

TEST_F(CrewTest, AStatementThatLastsRightAfterAnotherOneIsLeftAsWell) {
  state_.act = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  open();
  Client lasts = greeted();
  Client other = greeted();
  expect_answered(other);
  lasts.send("act\nhold\n");
  EXPECT_EQ(lasts.read(6), "acted\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  expect_answered(other);
}

TEST_F(CrewTest, AClientThatComesWhileAStatementLastsIsGreeted) {
  open();
  Client lasts = greeted();
  lasts.send("hold\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  Client other = greeted();
  expect_answered(other);
}

TEST_F(CrewTest, MoreStatementsThanThreadsMayLast) {
  open();
  std::vector<Client> lasting;
  for (int i = 0; i < 12; ++i) {
    lasting.push_back(greeted());
    lasting.back().send(i % 2 == 0 ? "hold\n" : "wait\n");
    EXPECT_TRUE(eventually([&] { return state_.holding == i + 1; }));
    Client other = greeted();
    expect_answered(other);
  }
  state_.let_go = true;
  for (Client &one : lasting) EXPECT_EQ(one.read(5), "held\n");
  for (Client &one : lasting) expect_answered(one);
}

TEST_F(CrewTest, RepliesOfAConnectionKeepTheirOrder) {
  open();
  Client client = greeted();
  Client other = greeted();
  client.send("say a\nhold\nsay b\nwait\nsay c\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  expect_answered(other);
  state_.let_go = true;
  EXPECT_EQ(client.read(16), "a\nheld\nb\nheld\nc\n");
}

TEST_F(CrewTest, AKindThatLastedTwiceIsServedByThePoolForAWhile) {
  open();
  Client client = greeted();
  Client other = greeted();
  for (uint64_t times = 1; times <= 2; ++times) {
    state_.let_go = false;
    client.send("hold\n");
    EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
    expect_answered(other);
    state_.let_go = true;
    EXPECT_EQ(client.read(5), "held\n");
    EXPECT_TRUE(eventually([&] { return figures().moved >= times; }));
  }
  const uint64_t moved = figures().moved;
  state_.let_go = false;
  other.send("hold\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  expect_answered(client);
  EXPECT_EQ(figures().moved, moved);
}

TEST_F(CrewTest, AnEndlessStatementGoesToThePool) {
  open();
  Client client = greeted();
  client.send("endless\n");
  EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  state_.let_go = true;
  EXPECT_EQ(client.read(5), "held\n");
  EXPECT_TRUE(eventually_counted(Counter::statements_served, 1));
  EXPECT_EQ(figures().in_place + figures().moved, 0u);
}

TEST_F(CrewTest, NobodyWaitsForACommitThatMayWait) {
  engine_.commits_wait = true;
  open();
  Client client = greeted();
  Client other = greeted();
  client.send("write\n");
  EXPECT_EQ(client.read(8), "written\n");
  EXPECT_TRUE(eventually_counted(Counter::statements_served, 1));
  EXPECT_EQ(figures().in_place + figures().moved, 0u);
}

TEST_F(CrewTest, AStopInterruptsStatements) {
  for (const char *const line : {"hold\n", "wait\n"}) {
    for (const bool answers_others : {false, true}) {
      open();
      Client lasts = greeted();
      Client other = greeted();
      lasts.send(line);
      EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
      if (answers_others) expect_answered(other);
      EXPECT_LT(stop_ms(), soon_ms);
      EXPECT_TRUE(lasts.closed());
      EXPECT_TRUE(other.closed());
    }
  }
}

TEST_F(CrewTest, AStatementMayStopItsOwnDoor) {
  state_.act = [this] { door_.reset(); };
  open();
  Client acts = greeted();
  Client other = greeted();
  expect_answered(other);
  acts.send("act\n");
  EXPECT_EQ(acts.read(6), "acted\n");
  EXPECT_TRUE(acts.closed());
  EXPECT_TRUE(other.closed());
  EXPECT_TRUE(eventually([this] { return state_.ended == 2; }));
}

TEST_F(CrewTest, AllSessionsEndWhenTheServerGoesDownAmidStatements) {
  state_.act = [this] { engine_.stop(); };
  open();
  std::vector<Client> idle, asking;
  for (int i = 0; i < 3; ++i) idle.push_back(greeted());
  for (int i = 0; i < 4; ++i) asking.push_back(greeted());
  std::string statements;
  for (int i = 0; i < 50; ++i) statements += "say x\n";
  // Some of the last turn's statements are served before this one, and others are not.
  for (size_t i = 0; i < asking.size(); ++i)
    asking[i].send(i == 1 ? statements + "act\n" + statements : statements + statements);
  EXPECT_TRUE(eventually([&] { return state_.ended == 7; })) << state_.ended;
}

TEST_F(CrewTest, ASessionThatEndsInPlaceClosesItsConnection) {
  open();
  Client client = greeted();
  expect_answered(client);
  client.send("quit\n");
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(eventually([this] { return door_->connections() == 0; }));
  EXPECT_EQ(state_.ended, 1);
}

TEST_F(CrewTest, ClientsMayLeaveWhileTheirStatementLasts) {
  open();
  {
    Client leaves = greeted();
    leaves.send("hold\n");
    EXPECT_TRUE(eventually([this] { return state_.holding == 1; }));
  }
  Client other = greeted();
  expect_answered(other);
  state_.let_go = true;
  EXPECT_TRUE(eventually([this] { return door_->connections() == 1; }));
  expect_answered(other);
}

TEST(LastingKinds, AKindIsKnownForAWhileAndAShortStatementIsNoted) {
  LastingKinds kinds;
  EXPECT_TRUE(kinds.may_be_short(7, 0));
  kinds.note_short(7);
  EXPECT_TRUE(kinds.may_be_short(7, 1));
  EXPECT_FALSE(kinds.is_suspected(7));
  kinds.note_lasting(7, 9);
  EXPECT_TRUE(kinds.may_be_short(7, 9));
  EXPECT_TRUE(kinds.is_suspected(7));
  EXPECT_FALSE(kinds.is_suspected(8));
  kinds.note_lasting(7, 10);
  EXPECT_FALSE(kinds.may_be_short(7, 10 + limits::lasting_kind_ms - 1));
  EXPECT_TRUE(kinds.may_be_short(8, 11));
  EXPECT_TRUE(kinds.may_be_short(7, 10 + limits::lasting_kind_ms));
  kinds.note_lasting(7, 10 + limits::lasting_kind_ms);
  EXPECT_TRUE(kinds.may_be_short(7, 10 + limits::lasting_kind_ms)) << "a single time again";
  kinds.note_lasting(7, 10 + limits::lasting_kind_ms);
  EXPECT_FALSE(kinds.may_be_short(7, 10 + limits::lasting_kind_ms));
  kinds.note_preempted(7);
  EXPECT_TRUE(kinds.may_be_short(7, 10));
  EXPECT_TRUE(kinds.is_suspected(7));
  kinds.note_short(7);
  EXPECT_FALSE(kinds.is_suspected(7));
}

}  // namespace
}  // namespace postern::door
