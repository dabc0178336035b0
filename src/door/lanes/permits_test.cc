#include "door/lanes/permits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "door/lanes/crew_limits.h"

namespace postern::door {
namespace {

TEST(Permits, SoManyHaveOneAndTheNextWaitsUntilOneIsGivenBack) {
  Permits permits(1);
  Permit first(&permits);
  first.take();
  std::atomic<bool> runs = false;
  std::thread other([&] {
    Permit second(&permits);
    second.take();
    runs = true;
  });
  first.give_back();
  other.join();
  EXPECT_TRUE(runs);
  first.take();
}

TEST(Permits, AWorkerThatWaitsForLongDoesWithout) {
  Permits permits(1);
  Permit first(&permits);
  Permit second(&permits);
  first.take();
  second.take();
  second.give_back();
  first.give_back();
  Permit third(&permits);
  third.take();
  third.give_back();
}

TEST(Permits, NoneIsNeededWhereThereAreNoPermits) {
  Permit permit(nullptr);
  permit.take();
  permit.give_back();
}

/// Each thread counts how often others had the permit between two of its own turns.
TEST(Permits, TurnsAreTakenInOrder) {
  constexpr int threads = 4;
  constexpr int turns = 500;
  Permits permits(1);
  std::atomic<uint64_t> total = 0;
  std::atomic<int> waits = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      Permit permit(&permits);
      for (int turn = 0; turn < turns; ++turn) {
        permit.take();
        total.fetch_add(1);
        permit.give_back();
        ++waits;
      }
    });
  }
  for (std::thread &one : all) one.join();
  EXPECT_EQ(total, static_cast<uint64_t>(threads * turns));
  // All permits are free again.
  Permit permit(&permits);
  permit.take();
  permit.give_back();
}

/// At most as many holders as permits, except those that have waited for long.
TEST(Permits, ManyThreadsShareAFew) {
  constexpr int count = 2;
  Permits permits(count);
  std::atomic<int> running = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> all;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back([&] {
      Permit permit(&permits);
      while (!stop) {
        permit.take();
        ++running;
        --running;
        permit.give_back();
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  stop = true;
  for (std::thread &one : all) one.join();
  EXPECT_EQ(running, 0);
  // No permit was lost, and none was made.
  Permit one(&permits), two(&permits), three(&permits);
  one.take();
  two.take();
  const auto begin = std::chrono::steady_clock::now();
  three.take();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(limits::permit_wait_us));
}

}  // namespace
}  // namespace postern::door
