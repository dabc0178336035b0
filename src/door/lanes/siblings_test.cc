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

/// A worker's poller, and an event of it that comes by call.
struct Loop {
  Loop() { poller.add(event.fd(), net::Poller::readable, nullptr); }
  net::Poller poller;
  net::WakeFd event;
};

int64_t us_of(auto call) {
  const int64_t began_us = clock_us();
  call();
  return clock_us() - began_us;
}

void end_turn(Sibling &sibling, int64_t now_us, bool goes_on) {
  sibling.leave_turn();
  sibling.end_turn(now_us, goes_on);
}

/// The thread stands for the kernel, which lets the sibling run a little later.
TEST(Siblings, OneThatHasRunForLongStepsBackUntilTheReadyOneHasHadItsTurn) {
  Siblings siblings(60'000'000);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other_loop.event.wake();
  for (int i = 0; i < 10; ++i) {
    other.begin_turn(clock_us());
    end_turn(other, clock_us(), false);
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

/// Whoever is about to sleep leaves the processor to the other anyway.
TEST(Siblings, OneWithoutEventsSleepsAndDoesNotStepBack) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other_loop.event.wake();
  int64_t least = INT64_MAX;
  for (int i = 0; i < 20; ++i) {
    other.begin_turn(clock_us());
    end_turn(other, clock_us(), false);
    least = std::min(least, us_of([&] { end_turn(runs, clock_us(), false); }));
  }
  EXPECT_LT(least, limits::stepped_back_us_max);
}

/// Whoever it wakes at the end of its turn may run in its place.
TEST(Siblings, OneThatTheKernelInterruptsAfterItsTurnIsWaitedFor) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other_loop.event.wake();
  int64_t most = 0;
  for (int i = 0; i < 100 && most < limits::stepped_back_us_max; ++i) {
    other.begin_turn(clock_us());
    other.leave_turn();
    most = std::max(most, us_of([&] { end_turn(runs, clock_us(), true); }));
  }
  EXPECT_GE(most, limits::stepped_back_us_max);
}

TEST(Siblings, NobodyWaitsForOneWithoutEvents) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other.begin_turn(clock_us());
  end_turn(other, clock_us(), false);
  int64_t least = INT64_MAX;
  for (int i = 0; i < 20; ++i) least = std::min(least, us_of([&] { end_turn(runs, clock_us(), true); }));
  EXPECT_LT(least, limits::stepped_back_us_max);
}

TEST(Siblings, NobodyWaitsForOneThatRuns) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other_loop.event.wake();
  other.begin_turn(clock_us());
  int64_t least = INT64_MAX;
  for (int i = 0; i < 20; ++i) least = std::min(least, us_of([&] { end_turn(runs, clock_us(), true); }));
  EXPECT_LT(least, limits::stepped_back_us_max);
}

TEST(Siblings, OneThatDoesNotComeToRunIsWaitedForNotLong) {
  Siblings siblings(limits::stepped_back_us_max);
  Loop loop, other_loop;
  Sibling runs(siblings, loop.poller.fd());
  Sibling other(siblings, other_loop.poller.fd());
  other_loop.event.wake();
  int64_t most = 0;
  // The machine may be so busy that the other seems to be asleep.
  for (int i = 0; i < 100 && most < limits::stepped_back_us_max; ++i) {
    other.begin_turn(clock_us());
    end_turn(other, clock_us(), false);
    most = std::max(most, us_of([&] { end_turn(runs, clock_us(), true); }));
  }
  EXPECT_GE(most, limits::stepped_back_us_max);
  // It has been forgotten: the end of the other's turn calls nobody.
  other.begin_turn(clock_us());
  end_turn(other, clock_us(), false);
}

/// Two loops with events at all times, on whatever processors: each goes on, and none waits for the other in vain.
TEST(Siblings, TwoThatAreAlwaysReadyTakeTurns) {
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

/// Siblings come and go while others look for one that is ready.
TEST(Siblings, OneThatEndsReleasesWhoeverWaitsForIt) {
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
