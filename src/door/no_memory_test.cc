// Running out of memory ends a request or a connection: never the process or a thread, and no acknowledged write is
// lost.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptors.h"
#include "base/pool.h"
#include "door/testing/toy.h"
#include "support/unit/allocations.h"

namespace postern::door {
namespace {

class NoMemoryTest : public DoorTest {
 protected:
  NoMemoryTest() {
    options_.send_buffer = 32 << 10;
    engine_.commits = 1 << 30;
    engine_.holds = 1 << 30;
  }
  ~NoMemoryTest() override { fail_allocation(0); }

  struct Request {
    std::string asked;
    std::string answer;
  };
  static std::vector<Request> requests() {
    return {
        {"say a\n", "a\n"},    {"rows 3 10\n", rows_text(3, 10)},        {"write\n", "done\n"}, {"hold\n", "held\n"},
        {"lone\n", "free\n"},  {"rows 6000 30\n", rows_text(6'000, 30)}, {"say b\n", "b\n"},    {"write\n", "done\n"},
        {"table\n", "free\n"}, {"rows 9 9000\n", rows_text(9, 9'000)}};
  }
  static std::string all_asked() {
    std::string all;
    for (const Request &request : requests()) all += request.asked;
    return all;
  }

  /// Every request is answered in order, correctly or with a refusal, until the connection ends; only a reply that has
  /// begun may be cut off. Returns the number of acknowledged writes.
  static int told(Client &client) {
    int writes = 0;
    std::string text;
    const auto have = [&](size_t bytes) {
      if (text.size() < bytes) text += client.read(bytes - text.size());
      return text.size() >= bytes;
    };
    for (const Request &request : requests()) {
      static constexpr std::string_view refusal = "out_of_memory\n";
      const size_t short_answer = std::min(refusal.size(), request.answer.size());
      if (!have(short_answer)) {
        EXPECT_TRUE(request.answer.starts_with(text) || refusal.starts_with(text)) << text;
        return writes;
      }
      if (text.starts_with(refusal.substr(0, short_answer)) && have(refusal.size()) && text.starts_with(refusal)) {
        text.erase(0, refusal.size());
        continue;
      }
      if (!have(request.answer.size())) {
        EXPECT_TRUE(request.answer.starts_with(text)) << request.asked;
        return writes;
      }
      EXPECT_TRUE(text.starts_with(request.answer)) << request.asked << text.substr(0, 100);
      if (!text.starts_with(request.answer)) return writes;
      text.erase(0, request.answer.size());
      if (request.asked == "write\n") ++writes;
    }
    return writes;
  }

  bool all_are_there() const {
    // One more scan thread, for finds.
    return engine_.attached == static_cast<int>(options_.threads + options_.scan_threads + 1 + options_.committers);
  }
  void expect_all_is_well() {
    fail_allocation(0);
    Client after = connect();
    ASSERT_EQ(after.ask("say x\ntable\nlone\n", 12), "x\nfree\nfree\n");
    after.close();
    ASSERT_TRUE(eventually([&] { return door_->connections() == 0; }));
    EXPECT_TRUE(all_are_there());
    EXPECT_EQ(pool::large_bytes(), 0u);
  }

  const Spared spared_;
};

TEST_F(NoMemoryTest, WhicheverAllocationFailsNoReplyIsWrongAndNothingIsLeft) {
  open(Access::write);
  ASSERT_TRUE(eventually([this] { return all_are_there(); }));
  const std::string asked = all_asked();
  int number = 1;
  for (bool reached = true; reached && number < 1'000; ++number) {
    fail_allocation(number);
    Client one = connect();
    Client other = connect();
    ASSERT_TRUE(one.connected() && other.connected());
    one.send(asked);
    other.send(asked);
    const int writes = told(one) + told(other);
    EXPECT_LE(writes, engine_.written.exchange(0)) << "told of a write that is not there";
    reached = !failure_is_ahead();
    one.close();
    other.close();
    ASSERT_NO_FATAL_FAILURE(expect_all_is_well()) << "allocation " << number;
  }
  EXPECT_GT(number, 20) << "hardly anything failed";
  EXPECT_LT(number, 1'000);
}

TEST_F(NoMemoryTest, ManyFailuresAtOnceEndConnectionsAndNothingElse) {
  options_.threads = 2;
  engine_.commit_us = 200;  // so that workers give writes away
  open(Access::write);
  ASSERT_TRUE(eventually([this] { return all_are_there(); }));
  const std::string asked = all_asked();
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    fail_allocations(static_cast<uint32_t>(2 + seed), seed);
    std::vector<Client> clients;
    for (int i = 0; i < 10; ++i) clients.push_back(connect());
    for (Client &client : clients) client.send(asked);
    int writes = 0;
    for (Client &client : clients) writes += told(client);
    EXPECT_LE(writes, engine_.written.exchange(0));
    clients.clear();
    ASSERT_NO_FATAL_FAILURE(expect_all_is_well()) << "seed " << seed;
  }
  EXPECT_GT(allocations_failed, 100u);
}

TEST_F(NoMemoryTest, WhereLeavingForTheSlowLaneTakesTooMuchTheRequestsAreRefused) {
  open();
  pool::set_large_bytes_max(pool::large_bytes() + 100);
  Client client = connect();
  EXPECT_EQ(client.ask("say a\nrows 5000 10\nsay b\n", 30), "a\nout_of_memory\nout_of_memory\n");
  pool::set_large_bytes_max(limits::buffer_bytes_max);
  EXPECT_EQ(client.ask("say c\n", 2), "c\n");
}

/// Descriptors that the server can spare in these tests.
std::atomic<uint32_t> spare{3};

TEST_F(NoMemoryTest, AllDoorsTogetherLeaveTheServerItsDescriptors) {
  descriptors::set_bound([](uint32_t) { return spare.load(); });
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    ASSERT_EQ(clients.back().ask("say x\n", 2), "x\n");
  }
  Client one_more = connect();
  EXPECT_EQ(one_more.read(100), "too_many_connections\n");
  EXPECT_EQ(count(Counter::connections_refused), 1u);
  clients.pop_back();
  ASSERT_TRUE(eventually([&] { return door_->connections() == 2; }));
  EXPECT_EQ(connect().ask("say y\n", 2), "y\n");
  EXPECT_GE(descriptors::besides(), 2u * 3);
  door_.reset();
  clients.clear();
  EXPECT_EQ(descriptors::besides(), 0u);
  descriptors::set_bound(nullptr);
}

}  // namespace
}  // namespace postern::door
