// Which worker accepts and owns a client, and how often a worker wakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

class ReceptionTest : public DoorTest {
 protected:
  void open_with(uint32_t threads) {
    options_.threads = threads;
    open();
    ASSERT_TRUE(eventually([] { return sleeps(1); }));
  }
  bool was_said(const std::string &text) {
    const std::vector<std::string> all = engine_.descriptions();
    return std::find(all.begin(), all.end(), text) != all.end();
  }
  /// A value of the thread's status in /proc.
  static std::string value_of(const std::filesystem::path &thread, const std::string &key) {
    std::ifstream status(thread / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
    return "0";
  }
  static bool is_worker(const std::filesystem::path &thread, int worker) {
    return value_of(thread, "Name") == "toy worker " + std::to_string(worker);
  }
  static bool sleeps(int worker) {
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task"))
      if (is_worker(thread, worker)) return value_of(thread, "State").starts_with('S');
    return false;
  }
  /// How often the worker has slept, or all threads except this one and the worker's.
  static int sleeps_of(int worker, bool others = false) {
    const std::string self = std::to_string(::gettid());
    int sum = 0;
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task"))
      if (thread.path().filename() != self && is_worker(thread, worker) != others)
        sum += std::stoi(value_of(thread, "voluntary_ctxt_switches"));
    return sum;
  }
};

TEST_F(ReceptionTest, AClientThatComesAloneWakesOneThread) {
  open_with(3);
  const int before = sleeps_of(1, true);
  for (int i = 0; i < 30; ++i) {
    Client client = connect();
    ASSERT_EQ(client.ask("say x\n", 2), "x\n");
    ASSERT_TRUE(eventually([] { return sleeps(1); }));
    client.close();
    ASSERT_TRUE(eventually([&] { return door_->connections() == 0 && sleeps(1); }));
  }
  EXPECT_TRUE(was_said("toy worker 1: 1 connection"));
  EXPECT_LT(sleeps_of(1, true) - before, 10);
}

TEST_F(ReceptionTest, EachClientGoesToTheWorkerWithTheFewest) {
  open_with(3);
  std::vector<Client> clients;
  for (int i = 0; i < 9; ++i) {
    clients.push_back(connect());
    ASSERT_EQ(clients.back().ask("say x\n", 2), "x\n");
  }
  for (const char *const one : {"1", "2", "3"})
    EXPECT_TRUE(eventually([&] { return was_said("toy worker " + std::string(one) + ": 3 connections"); })) << one;
  for (const std::string &text : engine_.descriptions()) EXPECT_EQ(text.find(": 4"), std::string::npos) << text;
}

TEST_F(ReceptionTest, ClientsThatComeTogetherAreAllAccepted) {
  open_with(2);
  std::vector<Client> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(connect());
  for (Client &client : clients) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  EXPECT_EQ(count(Counter::connections_accepted), 200u);
}

TEST_F(ReceptionTest, AWorkerThatKeepsNoTablesWakesForItsClientsAlone) {
  engine_.keeps_tables = false;
  open_with(1);
  Client client = connect();
  ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  const int before = sleeps_of(1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(client.ask("say x\n", 2), "x\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * limits::linger_ms));
  }
  EXPECT_LE(sleeps_of(1) - before, 25);
  EXPECT_EQ(engine_.holding, 0);
}

}  // namespace
}  // namespace postern::door
