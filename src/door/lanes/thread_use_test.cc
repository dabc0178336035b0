#include "door/lanes/thread_use.h"

#include <gtest/gtest.h>
#include <time.h>

namespace postern::door {
namespace {

constexpr int64_t never_us = 1'000'000'000;

void compute_for(int64_t us) {
  for (const uint64_t until = processor_ns() + static_cast<uint64_t>(us) * 1000; processor_ns() < until;) {
  }
}

// Other programs may have its processor meanwhile.
TEST(ThreadUse, AThreadThatComputesForLongIsNotShort) {
  ThreadUse use;
  use.begin();
  compute_for(2'000);
  EXPECT_FALSE(use.was_short(2'000));
  EXPECT_TRUE(use.was_short(never_us));
}

TEST(ThreadUse, AThreadThatSleepsIsNotShort) {
  ThreadUse use;
  use.begin();
  const timespec little{.tv_sec = 0, .tv_nsec = 5'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &little, nullptr);
  EXPECT_FALSE(use.was_short(never_us));
}

TEST(ThreadUse, WhatIsNotCountedIsNotShort) {
  ThreadUse use;
  EXPECT_FALSE(use.was_short(never_us));
  use.begin();
  EXPECT_TRUE(use.was_short(never_us));
  use.forget();
  EXPECT_FALSE(use.was_short(never_us));
}

}  // namespace
}  // namespace postern::door
