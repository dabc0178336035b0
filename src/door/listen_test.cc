// Listening sessions: when their letters are sent, after which answers, and how a client that does not read ends.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

class Listening : public DoorTest {
 protected:
  Client listener(const std::string &name) {
    Client client = connect();
    EXPECT_EQ(client.ask("listen " + name + "\n", 3), "ok\n");
    return client;
  }
  std::string tell(const std::string &name, const std::string &text) {
    return connect().ask("tell " + name + " " + text + "\n", 3);
  }
};

TEST_F(Listening, LettersAreSentThoughTheClientAsksNothing) {
  options_.threads = 3;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(listener("n" + std::to_string(i % 3)));
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tell("n" + std::to_string(i), std::to_string(round)), "ok\n");
    const std::string expected = std::to_string(round) + "\n";
    for (Client &client : clients) EXPECT_EQ(client.read(expected.size()), expected);
  }
  EXPECT_EQ(clients.front().ask("say on\n", 3), "on\n");
}

TEST_F(Listening, ASleepingSessionHearsAndSleepsOn) {
  open();
  Client client = listener("a");
  client.send("sleep b 0\n");
  EXPECT_EQ(tell("a", "one"), "ok\n");
  EXPECT_EQ(client.read(4), "one\n");
  EXPECT_EQ(connect().ask("wake b\n", 3), "ok\n");
  EXPECT_EQ(client.read(6), "woken\n");
}

TEST_F(Listening, LettersWaitForTheAnswersUnderWay) {
  open();
  Client client = listener("a");
  engine_.lone_busy = true;
  client.send("say first\nlone\nsay last\n");
  EXPECT_EQ(client.read(6), "first\n");
  EXPECT_TRUE(eventually([&] { return !door_->roster().all().empty(); }));
  EXPECT_EQ(tell("a", "between"), "ok\n");
  EXPECT_EQ(tell("a", "them"), "ok\n");
  engine_.lone_busy = false;
  std::string heard = client.read(23);
  EXPECT_EQ(heard.substr(0, 5), "free\n") << heard;
  EXPECT_NE(heard.find("between\nthem\n"), std::string::npos) << heard;
  EXPECT_NE(heard.find("last\n"), std::string::npos) << heard;
}

TEST_F(Listening, AListenerIsNotIdle) {
  options_.idle_timeout_ms = 100;
  open();
  Client client = listener("a");
  Client idle = connect();
  EXPECT_EQ(idle.ask("say a\n", 2), "a\n");
  EXPECT_TRUE(idle.closed());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(tell("a", "one"), "ok\n");
  EXPECT_EQ(client.read(4), "one\n");
}

TEST_F(Listening, AClientThatDoesNotReadIsClosedInTheEnd) {
  open();
  Client client = listener("a");
  const std::string much(100'000, 'x');
  Client teller = connect();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(teller.ask("tell a " + much + "\n", 3), "ok\n");
  EXPECT_TRUE(eventually([&] { return door_->connections() == 1; }));
}

TEST_F(Listening, AClientThatReadsLateGetsAll) {
  open();
  Client client = listener("a");
  const std::string much(100'000, 'x');
  Client teller = connect();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(teller.ask("tell a " + much + "\n", 3), "ok\n");
  for (int i = 0; i < 30; ++i) EXPECT_EQ(client.read(much.size() + 1), much + "\n");
}

// Wakes race with requests, sleep and ends: none is lost, and none reaches a session that has ended.
TEST_F(Listening, NoCallIsLost) {
  options_.threads = 2;
  open();
  std::atomic<bool> done{false};
  std::thread teller([&] {
    Client client = connect();
    while (!done) {
      EXPECT_EQ(client.ask("tell a x\nwake s\n", 6), "ok\nok\n");
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Client client = connect();
        client.send("listen a\nlone\nsleep s 1\nsay end\n");
        std::string heard;
        while (heard.find("end\n") == std::string::npos) heard += client.read(1);
        EXPECT_EQ(client.read(2), "x\n");
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  done = true;
  teller.join();
}

}  // namespace
}  // namespace postern::door
