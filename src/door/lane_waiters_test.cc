// Requests that wait for a row or a table in the slow lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

/// Many waiters for a row or a table, with one scan thread and with several.
class Waiters : public DoorTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  static constexpr int waiters_count = 100;

  Waiters() { options_.scan_threads = GetParam(); }

  void start(const std::string &request) {
    open(Access::write);
    engine_.row_locked = true;
    engine_.busy = true;
    for (int i = 0; i < waiters_count; ++i) waiters_.push_back(connect());
    for (Client &client : waiters_) ASSERT_TRUE(client.send(request));
    ASSERT_TRUE(eventually([&] { return engine_.tries() >= 2 * waiters_count; }));
  }
  /// The median number of tries before a request that has to run alone.
  int tries_before_lone() {
    Client client = connect();
    std::vector<int> counts;
    for (int i = 0; i < 11; ++i) {
      EXPECT_EQ(client.ask("lone\n", 5), "free\n");
      counts.push_back(engine_.tries_before_lone);
    }
    std::sort(counts.begin(), counts.end());
    return counts[counts.size() / 2];
  }

  std::vector<Client> waiters_;
};
INSTANTIATE_TEST_SUITE_P(ScanThreads, Waiters, ::testing::Values(1, 2, 4));

// Each waiter occupied a thread for limits::row_wait_slow_ms, and later requests waited for all of them.
TEST_P(Waiters, ForARowHoldUpNobodyElse) {
  start("row 0\n");
  EXPECT_LE(tries_before_lone(), 10);
  EXPECT_LE(engine_.patient_tries_max, static_cast<int>(GetParam()) - 1);
  if (GetParam() > 1) {
    EXPECT_GE(engine_.patient_tries_max, 1) << "nobody keeps a place in the queue";
  }
  engine_.row_locked = false;
  for (Client &client : waiters_) EXPECT_EQ(client.read(8), "changed\n");
}

TEST_P(Waiters, ForATableHoldUpNobodyElse) {
  start("table\n");
  EXPECT_LE(tries_before_lone(), 10);
  engine_.busy = false;
  for (Client &client : waiters_) EXPECT_EQ(client.read(5), "free\n");
}

// All are tried at once when one of them succeeds, and none needs a second try.
TEST_P(Waiters, ForARowGetOnTogetherWhenItIsFree) {
  start("row 0\nsay x\n");
  engine_.row_locked = false;
  const int tried = engine_.rows_tried;
  for (Client &client : waiters_) EXPECT_EQ(client.read(10), "changed\nx\n");
  EXPECT_LE(engine_.rows_tried - tried, waiters_count);
}

TEST_P(Waiters, StopAtOnce) {
  start("row 0\n");
  EXPECT_LT(stop_ms(), soon_ms);
  for (Client &client : waiters_) EXPECT_TRUE(client.closed());
}

}  // namespace
}  // namespace postern::door
