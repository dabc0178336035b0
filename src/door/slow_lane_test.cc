#include "door/lanes/slow_lane.h"

#include <gtest/gtest.h>

#include "base/pool.h"
#include "door/testing/toy.h"

namespace postern::door {
namespace {

class SlowLaneTest : public DoorTest {
 protected:
  SlowLaneTest() { options_.send_buffer = 32 << 10; }

  struct EveryKind {
    Client searching;
    Client waiting;
    Client stalled;
  };
  /// One client that searches, one that waits for a held table, and one that does not read its answer.
  EveryKind start_every_kind() {
    engine_.busy = true;
    EveryKind clients{connect(), connect(), connect()};
    clients.searching.send("search\n");
    EXPECT_TRUE(eventually([&] { return engine_.searching == 1; }));
    clients.waiting.send("table\n");
    clients.stalled.send("rows 100000000 1000\n");
    return clients;
  }
};

TEST_F(SlowLaneTest, LongReplyIsWholeAndKeepsItsPlaceInLine) {
  open();
  Client client = connect();
  const std::string answers = "a\n" + rows_text(50'000, 100) + "b\n" + rows_text(5'000, 20) + "c\n";
  client.send("say a\nrows 50000 100\nsay b\nrows 5000 20\nsay c\n");
  EXPECT_TRUE(client.read(answers.size()) == answers);
  EXPECT_EQ(client.ask("say d\n", 2), "d\n");
}

// If they ran one by one, each would have a commit of its own.
TEST_F(SlowLaneTest, WaitersForATableAreServedTogetherOnceItIsFree) {
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect());
  engine_.busy = true;
  for (Client &client : clients) ASSERT_TRUE(client.send("table\nsay x\n"));
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 40; }));
  engine_.busy = false;
  for (Client &client : clients) EXPECT_EQ(client.read(7), "free\nx\n");
  EXPECT_LE(engine_.tables_slow, 4) << "two scan threads";
}

TEST_F(SlowLaneTest, LongReplyIsBoundedInMemoryAndDelaysNobody) {
  open();
  Client greedy = connect();
  Client other = connect();
  const size_t before = pool::large_bytes();
  size_t most = 0;
  greedy.send("rows 40000 1000\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow != 0; }));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(other.ask("say x\n", 2), "x\n");
    most = std::max(most, pool::large_bytes() - before);
  }
  const std::string expected = rows_text(40'000, 1'000);
  std::string answer;
  while (answer.size() < expected.size()) {
    const std::string piece = greedy.read(std::min<size_t>(1 << 20, expected.size() - answer.size()));
    ASSERT_FALSE(piece.empty());
    answer += piece;
    most = std::max(most, pool::large_bytes() - before);
  }
  EXPECT_TRUE(answer == expected);
  EXPECT_LE(most, size_t{512} << 10);
}

TEST_F(SlowLaneTest, ClientThatDoesNotReadGivesTheThreadToOthers) {
  open();
  std::vector<Client> stalled;
  for (int i = 0; i < 5; ++i) stalled.push_back(connect());
  for (Client &client : stalled) client.send("rows 1000000 1000\n");
  Client reading = connect();
  const std::string expected = rows_text(20'000, 100);
  EXPECT_TRUE(reading.ask("rows 20000 100\n", expected.size()) == expected);
  EXPECT_TRUE(eventually([&] { return engine_.holding == 0; })) << "a stalled client must hold no table";
}

TEST_F(SlowLaneTest, StalledClientGoesOnWhereItStopped) {
  open();
  Client client = connect();
  client.send("rows 20000 1000\nsay after\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow != 0 && engine_.holding == 0; }));
  const std::string expected = rows_text(20'000, 1'000) + "after\n";
  EXPECT_TRUE(client.read(expected.size()) == expected);
}

// Each time a slow reader reads a little, only as much may be written for it, however large the rows.
TEST_F(SlowLaneTest, SlowReaderOfLargeRowsIsBoundedInMemory) {
  options_.send_buffer = 8 << 10;
  open();
  Client client = connect(8 << 10);
  const size_t before = pool::large_bytes();
  constexpr size_t row = size_t{4} << 20;
  client.send("rows 50 " + std::to_string(row) + "\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow != 0 && engine_.holding == 0; }));
  size_t most = 0;
  for (int i = 0; i < 120; ++i) {
    ASSERT_EQ(client.read(24 << 10).size(), size_t{24} << 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    most = std::max(most, pool::large_bytes() - before);
  }
  EXPECT_LE(most, 4 * row);
}

TEST_F(SlowLaneTest, WaitingDdlOnlyPausesAScan) {
  open();
  engine_.wanted = true;
  Client client = connect();
  const std::string expected = rows_text(5'000, 50);
  EXPECT_TRUE(client.ask("rows 5000 50\n", expected.size()) == expected);
  EXPECT_GE(engine_.runs_slow, 40);
}

TEST_F(SlowLaneTest, BusyTableIsTriedAgainUntilFree) {
  open();
  engine_.busy = true;
  Client client = connect();
  Client other = connect();
  client.send("say a\ntable\nsay b\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 3; }));
  EXPECT_EQ(other.ask("say x\n", 2), "x\n");
  engine_.busy = false;
  EXPECT_EQ(client.read(9), "a\nfree\nb\n");
}

// If they ran separately each would commit, and ever more would queue while DDL goes on.
TEST_F(SlowLaneTest, OpsAfterABusyTableAreRunTogether) {
  open(Access::write);
  engine_.busy = true;
  engine_.commits = 10;
  Client client = connect();
  ASSERT_TRUE(client.send("table\nwrite\nsay a\nwrite\nwrite\n"));
  EXPECT_TRUE(eventually([&] { return engine_.runs_slow >= 2; }));
  EXPECT_EQ(engine_.commits, 10);
  ASSERT_TRUE(client.send("write\n"));
  engine_.busy = false;
  EXPECT_EQ(client.read(27), "free\ndone\na\ndone\ndone\ndone\n");
  EXPECT_GE(engine_.commits, 8) << "one run for those that came along, one for what came later";
}

// Answers before a request that waits for a held table must not wait with it.
TEST_F(SlowLaneTest, AnswersBeforeABusyTableLeaveAtOnce) {
  open();
  engine_.busy = true;
  Client client = connect();
  client.send("say a\ntable\n");
  EXPECT_EQ(client.read(2, 3'000), "a\n");
  engine_.busy = false;
  EXPECT_EQ(client.read(5), "free\n");
}

TEST_F(SlowLaneTest, AnswersBetweenASlowFindAndABusyTableLeaveAtOnce) {
  open();
  engine_.busy = true;
  Client client = connect();
  client.send("rows 5000 10\nsay a\ntable\n");
  const std::string expected = rows_text(5'000, 10) + "a\n";
  EXPECT_TRUE(client.read(expected.size(), 3'000) == expected);
  engine_.busy = false;
  EXPECT_EQ(client.read(5), "free\n");
}

TEST_F(SlowLaneTest, AUnitIsRunAsAWholeBesideOtherConnections) {
  open(Access::write);
  Client client = connect();
  Client other = connect();
  engine_.row_locked = true;
  ASSERT_TRUE(client.send("say a\nunit say b;row 1;say c\nsay d\nunit row 1;row 1\nsay e\n"));
  EXPECT_EQ(client.read(2), "a\n");
  ASSERT_TRUE(eventually([&] { return engine_.rows_tried > 1; }));
  ASSERT_TRUE(other.send("unit say x;say y\nsay z\n"));
  EXPECT_EQ(other.read(6), "x\ny\nz\n");
  EXPECT_EQ(client.read(1, 50), "") << "nothing of a unit leaves before all of it is done";
  engine_.row_locked = false;
  EXPECT_EQ(client.read(32), "b\nchanged\nc\nd\nchanged\nchanged\ne\n");
}

TEST_F(SlowLaneTest, BusyForTooLongIsAnswered) {
  options_.table_wait_ms = 60;
  open();
  engine_.busy = true;
  Client client = connect();
  EXPECT_EQ(client.ask("table\nsay b\n", 13), "table_busy\nb\n");
  EXPECT_EQ(count(Failure::table_busy), 1u);
}

// It goes home whenever another client gets the table, and comes back at once. If its wait began anew each time, it
// would never end.
TEST_F(SlowLaneTest, AnOpThatHasToRunAloneIsBusyForTooLongAlsoByWayOfItsWorker) {
  options_.table_wait_ms = 500;
  open();
  Client lone = connect();
  Client other = connect();
  engine_.lone_busy = true;
  const int64_t began_ms = clock_ms();
  ASSERT_TRUE(lone.send("lone\n"));
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow != 0; }));
  std::string answer;
  while (answer.empty() && clock_ms() - began_ms < deadline_ms) {
    engine_.busy = true;
    const int slow = engine_.tables_tried_slow;
    ASSERT_TRUE(other.send("table\n"));
    ASSERT_TRUE(eventually([&] { return engine_.tables_tried_slow > slow; }));
    engine_.busy = false;
    ASSERT_EQ(other.read(5), "free\n");
    answer = lone.read(11, 0);
  }
  EXPECT_EQ(answer, "table_busy\n");
  EXPECT_GE(engine_.lone_left, 4) << "it has not been home";
  EXPECT_GE(clock_ms() - began_ms, 500);
}

// A job that works long before it is held up does so in every try. One thread is left to the others.
TEST_F(SlowLaneTest, WaitersThatWorkLongLeaveAThreadToOthers) {
  options_.scan_threads = 3;
  open(Access::write);
  engine_.row_locked = true;
  std::vector<Client> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(connect());
  for (Client &client : waiters) ASSERT_TRUE(client.send("row 80\n"));
  ASSERT_TRUE(eventually([&] { return engine_.rows_tried >= 9; })) << "now it is known of each";
  ASSERT_TRUE(eventually([&] { return engine_.row_tries <= 2; }));
  engine_.row_tries_max = 0;
  Client client = connect();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ask("lone\n", 5), "free\n");
  ASSERT_TRUE(eventually([&, tried = engine_.rows_tried.load()] { return engine_.rows_tried >= tried + 4; }));
  EXPECT_LE(engine_.row_tries_max, 2);
  engine_.row_locked = false;
  for (Client &one : waiters) EXPECT_EQ(one.read(8), "changed\n");
}

TEST_F(SlowLaneTest, ManyConnectionsOfOneBatchMayLeaveTogether) {
  open();
  engine_.busy = true;
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(connect());
  for (Client &client : clients) client.send("say a\ntable\nsay b\nrows 5000 20\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 30; }));
  engine_.busy = false;
  const std::string expected = "a\nfree\nb\n" + rows_text(5'000, 20);
  for (Client &client : clients) EXPECT_TRUE(client.read(expected.size()) == expected);
}

TEST_F(SlowLaneTest, FailureInAStreamClosesTheConnection) {
  open();
  Client client = connect();
  client.send("break 2000\nsay never\n");
  std::string text = client.read(10'000'000);
  EXPECT_EQ(text.find("never"), std::string::npos);
  EXPECT_LE(text.size(), size_t{2'000'000});
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
}

TEST_F(SlowLaneTest, FailureBeforeAnythingLeftIsAnAnswer) {
  open();
  Client client = connect();
  EXPECT_EQ(client.ask("break 10\n", 13), "engine_error\n");
}

TEST_F(SlowLaneTest, ClosesAfterTheLastAnswerAndReadsNoFurther) {
  open();
  Client client = connect();
  const std::string expected = rows_text(9'000, 50) + "bye\n";
  EXPECT_TRUE(client.ask("rows 9000 50\nbye\nsay no\n", expected.size()) == expected);
  EXPECT_TRUE(client.closed());
}

TEST_F(SlowLaneTest, ClientThatLeavesWhileStreamingIsForgotten) {
  open();
  {
    Client client = connect();
    client.send("rows 100000000 1000\n");
    EXPECT_EQ(client.read(100'000).size(), 100'000u);
  }
  {
    Client client = connect();
    client.send("rows 100000000 1000\n");
    ASSERT_TRUE(eventually([&] { return engine_.holding == 0; }));  // parked
  }
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return engine_.holding == 0; }));
}

// A find without matches writes nothing, so no failing send shows that its client is gone.
TEST_F(SlowLaneTest, ClientThatLeavesDuringASearchEndsIt) {
  options_.any_port = true;
  open();
  Client local = connect();
  local.send("search\n");
  ASSERT_TRUE(eventually([&] { return engine_.searching == 1; }));
  local.close();
  EXPECT_TRUE(eventually([&] { return engine_.searching == 0 && door_->connections() == 0; }, 3'000));

  // Over TCP the same looks like a client that sends no more but waits for its answers.
  Client remote(door_->port());
  remote.send("say a\nsearch\n");
  EXPECT_EQ(remote.read(2), "a\n");
  ASSERT_TRUE(eventually([&] { return engine_.searching == 1; }));
  remote.close();
  EXPECT_TRUE(eventually([&] { return engine_.searching == 0 && door_->connections() == 0; }, 3'000));
}

TEST_F(SlowLaneTest, ClientThatOnlyEndedItsSendingHearsWhatASearchFinds) {
  options_.any_port = true;
  open();
  Client local = connect();
  Client remote(door_->port());
  for (Client *const client : {&local, &remote}) {
    client->send("search\nsay b\n");
    client->end_sending();
    EXPECT_EQ(client->read(1), "?");
    engine_.found = true;
    EXPECT_EQ(client->read(7), "none\nb\n");
    EXPECT_TRUE(client->closed());
    engine_.found = false;
  }
}

TEST_F(SlowLaneTest, ShortFindsDoNotWaitForSearches) {
  options_.scan_threads = 2;
  open();
  std::vector<Client> searching;
  for (int i = 0; i < 6; ++i) searching.push_back(connect());
  for (Client &client : searching) client.send("search\nsay b\n");
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 6; }, 3'000)) << "each search has its turn";
  Client client = connect();
  const std::string expected = rows_text(5'000, 20);
  for (int i = 0; i < 20; ++i) {
    const int64_t begin = clock_ms();
    ASSERT_TRUE(client.ask("rows 5000 20\n", expected.size()) == expected);
    EXPECT_LT(clock_ms() - begin, 1'000);
  }
  engine_.found = true;
  for (Client &one : searching) EXPECT_EQ(one.read(7), "none\nb\n");
}

// However many short finds come, the searches progress: each runs again and again.
TEST_F(SlowLaneTest, SearchesAreNotStarvedByShortFinds) {
  open();
  std::vector<Client> searching;
  for (int i = 0; i < 3; ++i) searching.push_back(connect());
  for (Client &client : searching) client.send("search\n");
  std::atomic<bool> done{false};
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      Client client = connect();
      const std::string expected = rows_text(5'000, 20);
      while (!done) EXPECT_TRUE(client.ask("rows 5000 20\n", expected.size()) == expected);
    });
  }
  EXPECT_TRUE(eventually([&] { return engine_.searches >= 30; }));
  done = true;
  for (std::thread &asker : askers) asker.join();
}

TEST_F(SlowLaneTest, OneClientsManyFindsDoNotKeepOthersWaiting) {
  open();
  Client many = connect();
  constexpr int in_flight = 8;
  std::string asked;
  for (int i = 0; i < in_flight; ++i) asked += "rows 100000 4\n";
  many.send(asked);
  std::atomic<bool> other_is_answered{false};
  std::thread reader([&] {
    const std::string expected = rows_text(100'000, 4);
    // Another request for each answer: they never end by themselves.
    for (int left = in_flight; left > 0; --left) {
      ASSERT_TRUE(many.read(expected.size()) == expected);
      if (other_is_answered) continue;
      many.send("rows 100000 4\n");
      ++left;
    }
  });
  EXPECT_TRUE(eventually([&] { return engine_.runs_slow != 0; }));
  Client client = connect();
  const std::string expected = rows_text(5'000, 20);
  EXPECT_TRUE(client.ask("rows 5000 20\n", expected.size()) == expected);
  other_is_answered = true;
  reader.join();
}

// A client that always reads a little never stalls; its scan must release its tables all the same.
TEST_F(SlowLaneTest, SlowReaderOfLargeRowsIsPausedNowAndThen) {
  options_.send_buffer = 8 << 10;
  open();
  Client client = connect(8 << 10);
  client.send("rows 60 65536\n");
  for (int i = 0; i < 30; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(client.read(1 << 16).size(), size_t{1} << 16);
  }
  EXPECT_GE(engine_.runs_slow, 5);
}

TEST_F(SlowLaneTest, ClientThatTakesNothingTimesOut) {
  options_.idle_timeout_ms = 200;
  open();
  Client client = connect();
  client.send("rows 1000000 1000\n");
  EXPECT_TRUE(eventually([&] { return count(Counter::connections_timed_out) == 1; }));
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
}

TEST_F(SlowLaneTest, StopsWithEveryKindOfJobUnderWay) {
  options_.scan_threads = 3;
  open();
  EveryKind clients = start_every_kind();
  Client streaming = connect();
  streaming.send("rows 100000000 1000\n");
  std::thread reader([&] {
    while (!streaming.read(1 << 16).empty()) continue;
  });
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 10; }));
  EXPECT_LT(stop_ms(), soon_ms);
  reader.join();
  EXPECT_TRUE(clients.waiting.closed());
  EXPECT_TRUE(clients.searching.closed());
  EXPECT_EQ(engine_.attached, 0);
  EXPECT_EQ(door_->connections(), 0u);
}

TEST_F(SlowLaneTest, ServerThatStopsEndsEveryKindOfJob) {
  options_.scan_threads = 2;
  open();
  EveryKind clients = start_every_kind();
  ASSERT_TRUE(eventually([&] { return engine_.runs_slow >= 10; }));
  engine_.stop();
  EXPECT_TRUE(clients.waiting.closed());
  EXPECT_TRUE(clients.searching.closed());
  EXPECT_TRUE(eventually([&] { return engine_.attached == 0; }));
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
}

}  // namespace
}  // namespace postern::door
