// Sessions that sleep: how they wake, and what their clients get.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

class Sleeping : public DoorTest {
 protected:
  /// The number of sleeping connections.
  size_t asleep() const {
    size_t count = 0;
    for (const ConnectionNotes &notes : door_->roster().all()) count += notes.doing == Doing::asleep ? 1 : 0;
    return count;
  }
  void await_asleep(size_t count) {
    ASSERT_TRUE(eventually([&] { return asleep() == count; })) << asleep();
  }
  std::string wake(const std::string &name) { return connect().ask("wake " + name + "\n", 3); }
};

TEST_F(Sleeping, SomebodyElseWakesIt) {
  open();
  Client client = connect();
  client.send("sleep a 0\n");
  await_asleep(1);
  EXPECT_EQ(wake("b"), "ok\n");
  await_asleep(1);
  EXPECT_EQ(wake("a"), "ok\n");
  EXPECT_EQ(client.read(6), "woken\n");
  EXPECT_EQ(client.ask("say on\n", 3), "on\n");
}

TEST_F(Sleeping, AClientOfAnotherWorkerWakesIt) {
  options_.threads = 3;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(connect());
  for (size_t i = 0; i < clients.size(); ++i) clients[i].send("sleep n" + std::to_string(i % 10) + " 0\n");
  await_asleep(30);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wake("n" + std::to_string(i)), "ok\n");
  for (Client &client : clients) EXPECT_EQ(client.read(6), "woken\n");
}

TEST_F(Sleeping, ItWakesInTime) {
  open();
  Client late = connect();
  Client sooner = connect();
  const int64_t begin = clock_ms();
  late.send("sleep a 300\n");
  sooner.send("sleep b 50\nsay behind\n");
  EXPECT_EQ(sooner.read(12), "late\nbehind\n");
  EXPECT_GE(clock_ms() - begin, 50);
  EXPECT_EQ(late.read(5), "late\n");
  EXPECT_GE(clock_ms() - begin, 300);
}

TEST_F(Sleeping, PipelinedRequestsWaitInOrder) {
  open();
  Client client = connect();
  client.send("say before\nsleep a 0\nsay one\n");
  EXPECT_EQ(client.read(7), "before\n");
  await_asleep(1);
  client.send("say two\n");
  // Far more unparsed bytes than the worker holds: the rest stays in the kernel, or at the client.
  std::string many;
  std::string answers;
  for (int i = 0; i < 20'000; ++i) {
    many += "say " + std::to_string(i) + "\n";
    answers += std::to_string(i) + "\n";
  }
  std::thread sender([&] { client.send(many); });
  const uint64_t received = count(Counter::bytes_received);
  EXPECT_EQ(connect().ask("say here\n", 5), "here\n");
  EXPECT_LT(count(Counter::bytes_received) - received, 100u);
  EXPECT_EQ(wake("a"), "ok\n");
  EXPECT_EQ(client.read(14 + answers.size()), "woken\none\ntwo\n" + answers);
  sender.join();
}

TEST_F(Sleeping, AClientThatLeavesIsForgotten) {
  options_.threads = 2;
  open();
  for (const char *const behind : {"", "say unread\n"}) {
    Client gone = connect();
    gone.send("sleep a 0\n");
    await_asleep(1);
    if (*behind != '\0') gone.send(behind);
    gone.close();
    EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  }
  Client half = connect();
  half.send("sleep a 0\n");
  half.end_sending();
  EXPECT_TRUE(half.closed());
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  const std::lock_guard guard(protocol_.sleepers.mutex);
  EXPECT_TRUE(protocol_.sleepers.by_name.empty());
}

TEST_F(Sleeping, AClientThatIsOwedAnAnswerMayEndItsSending) {
  options_.threads = 2;
  open();
  for (const char *const behind : {"", "say behind\n"}) {
    Client before = connect();
    before.send("pause a 0\n");
    await_asleep(1);
    before.send(behind);
    before.end_sending();
    const std::string answers = std::string("late\n") + (*behind != '\0' ? "behind\n" : "");
    EXPECT_EQ(before.read(answers.size()), answers);
    EXPECT_TRUE(before.closed());
    Client at_once = connect();
    at_once.send(std::string("pause a 0\n") + behind);
    at_once.end_sending();
    EXPECT_EQ(at_once.read(answers.size()), answers);
    EXPECT_TRUE(at_once.closed());
  }
  Client gone = connect();
  gone.send("pause a 0\n");
  await_asleep(1);
  gone.close();
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  Client woken = connect();
  woken.send("pause b 0\nsay behind\n");
  await_asleep(1);
  EXPECT_EQ(wake("b"), "ok\n");
  EXPECT_EQ(woken.read(13), "woken\nbehind\n");
}

TEST_F(Sleeping, NoSleepingConnectionIsTimedOut) {
  options_.idle_timeout_ms = 100;
  options_.request_timeout_ms = 100;
  open();
  Client client = connect();
  client.send("sleep a 700\nsay behind\nsay half");
  EXPECT_EQ(client.read(12), "late\nbehind\n");
  EXPECT_EQ(client.read(18), "request_timed_out\n") << "awake it has to finish what it began";
  Client idle = connect();
  idle.send("sleep a 300\n");
  EXPECT_EQ(idle.read(5), "late\n");
  EXPECT_TRUE(idle.closed());
}

TEST_F(Sleeping, TheyHoldNothingAndCostNothing) {
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(connect());
    clients.back().send("table\nsleep a 0\n");
  }
  for (Client &client : clients) EXPECT_EQ(client.read(5), "free\n");
  await_asleep(300);
  EXPECT_TRUE(eventually([&] { return engine_.holding == 0; }));
  const uint64_t received = count(Counter::receives);
  const uint64_t batches = count(Counter::batches);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(count(Counter::receives), received);
  EXPECT_EQ(count(Counter::batches), batches);
  EXPECT_EQ(wake("a"), "ok\n");
  for (Client &client : clients) EXPECT_EQ(client.read(6), "woken\n");
}

TEST_F(Sleeping, TheDoorClosesUnderThem) {
  options_.threads = 2;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(connect());
    clients.back().send("sleep a 0\n");
  }
  await_asleep(50);
  EXPECT_LT(stop_ms(), soon_ms);
  for (Client &client : clients) EXPECT_TRUE(client.closed());
}

TEST_F(Sleeping, SomebodyMayEndThem) {
  open();
  Client client = connect();
  client.send("sleep a 0\n");
  await_asleep(1);
  EXPECT_EQ(door_->roster().end(door_->roster().all().front().id), Ended::ended);
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
}

// Wakes and alarms come in any order: no woken session sleeps on.
TEST_F(Sleeping, NoWakeIsLost) {
  options_.threads = 2;
  open();
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  std::atomic<bool> done{false};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client client = connect();
      for (int round = 0; round < 200; ++round) {
        const std::string said = client.ask("sleep a " + std::to_string(i % 2 == 0 ? 0 : 1) + "\n", 5);
        if (said == "woken") EXPECT_EQ(client.read(1), "\n");
        else EXPECT_EQ(said, "late\n");
        ++answered;
      }
    });
  }
  std::thread waker([&] {
    Client client = connect();
    while (!done) EXPECT_EQ(client.ask("wake a\n", 3), "ok\n");
  });
  for (std::thread &thread : threads) thread.join();
  done = true;
  waker.join();
  EXPECT_EQ(answered, 800);
}

}  // namespace
}  // namespace postern::door
