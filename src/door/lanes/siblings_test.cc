#include "door/lanes/siblings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "door/lanes/crew_limits.h"
#include "net/poller.h"

namespace postern::door {
namespace {

/// A worker's poller, and its event that arrives by call.
struct Loop {
  Loop() { poller.add(event.fd(), net::Poller::readable, nullptr); }
  net::Poller poller;
  net::WakeFd event;
};

void end_turn(Sibling &sibling, int64_t now_us, bool goes_on) {
  sibling.leave_turn();
  sibling.end_turn(now_us, goes_on);
}

/// A running worker, and another.
class SiblingsTest : public testing::Test {
 protected:
  /// Each waits for at most `stepped_back_us_max`.
  explicit SiblingsTest(int64_t stepped_back_us_max = limits::stepped_back_us_max) : siblings(stepped_back_us_max) {}

  void leave_other_ready() {
    other.begin_turn(clock_us());
    end_turn(other, clock_us(), false);
  }
  /// The duration of the running worker's end of turn.
  int64_t end_turn_us(bool goes_on) {
    const int64_t began_us = clock_us();
    end_turn(runs, clock_us(), goes_on);
    return clock_us() - began_us;
  }
  /// The shortest of several durations; a busy machine lengthens others.
  static int64_t least_us(auto measure) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 20; ++i) least = std::min(least, measure());
    return least;
  }
  /// Whether the running worker waits as long as it may after the other did `leave_other`. On a busy machine the other
  /// may seem to be asleep, so the test repeats.
  bool is_waited_for(auto leave_other) {
    for (int i = 0; i < 100; ++i) {
      leave_other();
      if (end_turn_us(true) >= limits::stepped_back_us_max) return true;
    }
    return false;
  }

  Siblings siblings;
  Loop loop, other_loop;
  Sibling runs{siblings, loop.poller.fd()};
  Sibling other{siblings, other_loop.poller.fd()};
};

/// Only a turn of the other ends the wait before the test does.
class PatientSiblingsTest : public SiblingsTest {
 protected:
  PatientSiblingsTest() : SiblingsTest(60'000'000) {}
};

/// The thread acts as the kernel, which lets the other run a little later.
TEST_F(PatientSiblingsTest, OneThatHasRunForLongStepsBackUntilTheReadyOneHasHadItsTurn) {
  other_loop.event.wake();
  for (int i = 0; i < 10; ++i) {
    leave_other_ready();
    const int64_t ran_us = clock_us();
    std::atomic<bool> had_turn = false;
    std::thread kernel([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      had_turn = true;
      other.begin_turn(clock_us());
      other.pause_turn();
    });
    const int64_t now_us = clock_us() + (i + 1) * limits::step_back_us;  // the last look is as long ago
    runs.begin_turn(now_us);
    end_turn(runs, now_us, true);
    const bool seemed_asleep = now_us - ran_us > 40'000;  // on a busy machine
    EXPECT_TRUE(had_turn || seemed_asleep);
    kernel.join();
  }
}

/// A worker that is about to sleep yields the processor anyway.
TEST_F(SiblingsTest, OneWithoutEventsSleepsAndDoesNotStepBack) {
  other_loop.event.wake();
  EXPECT_LT(least_us([&] {
              leave_other_ready();
              return end_turn_us(false);
            }),
            limits::stepped_back_us_max);
}

/// A thread that it wakes at the end of its turn may run in its place.
TEST_F(SiblingsTest, OneThatTheKernelInterruptsAfterItsTurnIsWaitedFor) {
  other_loop.event.wake();
  EXPECT_TRUE(is_waited_for([&] {
    other.begin_turn(clock_us());
    other.leave_turn();
  }));
}

TEST_F(SiblingsTest, NobodyWaitsForOneWithoutEvents) {
  leave_other_ready();
  EXPECT_LT(least_us([&] { return end_turn_us(true); }), limits::stepped_back_us_max);
}

TEST_F(SiblingsTest, NobodyWaitsForOneThatRuns) {
  other_loop.event.wake();
  other.begin_turn(clock_us());
  EXPECT_LT(least_us([&] { return end_turn_us(true); }), limits::stepped_back_us_max);
}

TEST_F(SiblingsTest, OneThatDoesNotComeToRunIsWaitedForNotLong) {
  other_loop.event.wake();
  EXPECT_TRUE(is_waited_for([&] { leave_other_ready(); }));
  // The other has been forgotten: its end of turn calls nobody.
  leave_other_ready();
}

/// Two loops with events at all times, on any processors: both progress, and neither waits for the other in vain.
TEST(SiblingsOfThreadsTest, TwoThatAreAlwaysReadyTakeTurns) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loops[2];
  std::atomic<bool> stop = false;
  std::atomic<int> turns[2] = {0, 0};
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    loops[i].event.wake();
    threads[i] = std::thread([&, i] {
      Sibling me(siblings, loops[i].poller.fd());
      while (!stop) {
        end_turn(me, clock_us(), false);
        me.begin_turn(clock_us());
        ++turns[i];
      }
      end_turn(me, clock_us(), false);
    });
  }
  while (turns[0] < 1'000 || turns[1] < 1'000) std::this_thread::yield();
  stop = true;
  for (std::thread &one : threads) one.join();
}

/// Siblings come and go while others look for a ready one.
TEST(SiblingsOfThreadsTest, OneThatEndsReleasesWhoeverWaitsForIt) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  other_loop.event.wake();
  for (int i = 0; i < 50; ++i) {
    std::thread other([&] {
      Sibling short_lived(siblings, other_loop.poller.fd());
      short_lived.begin_turn(clock_us());
      end_turn(short_lived, clock_us(), false);
    });
    end_turn(runs, clock_us(), true);
    other.join();
  }
}

}  // namespace
}  // namespace postern::door
