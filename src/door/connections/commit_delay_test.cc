// When a thread that commits for several clients waits for more of them.
#include "door/connections/commit_delay.h"

#include <gtest/gtest.h>

#include <array>

namespace postern::door {
namespace {

class CommitDelayTest : public ::testing::Test {
 protected:
  /// The wait if no client comes.
  int64_t waits_us(bool others_read = false) {
    const int64_t began_us = clock_us();
    if (!delay_.begin(0, others_read)) return 0;
    EXPECT_EQ(delay_.wait(poller_, events_), 0u);
    return clock_us() - began_us;
  }

  net::Poller poller_;
  std::array<epoll_event, 1> events_;
  CommitDelay delay_;
};

TEST_F(CommitDelayTest, WaitsForNobodyWhereNothingIsFlushed) {
  EXPECT_FALSE(delay_.begin(0, false));
  delay_.note_run(10, 0);
  EXPECT_FALSE(delay_.begin(0, false));
  delay_.note_run(10, -3);
  EXPECT_FALSE(delay_.begin(0, false)) << "clocks of processors differ a little";
}

TEST_F(CommitDelayTest, WaitsForThoseItHasAnswered) {
  delay_.note_run(10, 1'000);
  EXPECT_TRUE(delay_.begin(0, false));
  EXPECT_EQ(delay_.writers(), 10u);
  EXPECT_FALSE(delay_.begin(10, false)) << "all of them are there";
  delay_.note_other_run();
  EXPECT_FALSE(delay_.begin(0, false));
}

TEST_F(CommitDelayTest, GivesEachAPartOfTheTimeThatAFlushTakes) {
  delay_.note_run(2, 80'000);
  EXPECT_GE(waits_us(), CommitDelay::patient_us_max / CommitDelay::patient_gaps);
  delay_.note_run(2, 10);
  EXPECT_GE(waits_us(), 10) << "and no more than one took";
}

TEST_F(CommitDelayTest, WaitsNoLongerForClientsThatDoNotCome) {
  net::WakeFd others;
  ASSERT_TRUE(poller_.add(others.fd(), net::Poller::readable, nullptr));
  others.wake();
  delay_.note_run(2, 5'000'000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(delay_.begin(0, false));
    delay_.end(0);
  }
  ASSERT_TRUE(delay_.begin(0, false));
  const int64_t began_us = clock_us();
  while (delay_.wait(poller_, events_) != 0) EXPECT_LT(clock_us() - began_us, CommitDelay::patient_us_max * 10);
  EXPECT_LT(clock_us() - began_us, CommitDelay::patient_us_max) << "a part of it, after so many";
}

}  // namespace
}  // namespace postern::door
