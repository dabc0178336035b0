#include "door/lanes/throttle.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"

namespace postern::door {
namespace {

/// Tries at the given time; returns false if refused, and stores the time.
bool fail(Throttle &throttle, Bytes place, Bytes user, int64_t &now_ms) {
  const Throttle::Verdict verdict = throttle.ask(place, user, now_ms);
  if (verdict.refused) return false;
  now_ms = std::max(now_ms, verdict.due_ms);
  throttle.note(place, user, false, now_ms);
  return true;
}

TEST(Throttle, ForgivesAFewMistakes) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  EXPECT_EQ(now_ms, 1'000'000);
}

TEST(Throttle, RepeatedFailuresCostMoreAndMore) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  EXPECT_GT(now_ms, 1'000'000 + 50'000);
  EXPECT_LT(now_ms, 1'000'000 + 90'000);
}

TEST(Throttle, ManyAtOnceGetOneTurnAfterTheOtherOrNone) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  int64_t last_ms = now_ms;
  int admitted = 0;
  for (int i = 0; i < 1'000; ++i) {
    const Throttle::Verdict verdict = throttle.ask("a", "ann", now_ms);
    if (verdict.refused) continue;
    ++admitted;
    EXPECT_GE(verdict.due_ms, last_ms + 5'000);
    last_ms = verdict.due_ms;
  }
  EXPECT_GE(admitted, 1);
  EXPECT_LE(admitted, 4);
}

TEST(Throttle, OneAccountsFailuresBarelySlowDownOthers) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  const Throttle::Verdict neighbour = throttle.ask("a", "bob", now_ms);
  EXPECT_FALSE(neighbour.refused);
  EXPECT_EQ(neighbour.due_ms, now_ms);
  const Throttle::Verdict elsewhere = throttle.ask("b", "ann", now_ms);
  EXPECT_FALSE(elsewhere.refused);
  EXPECT_LE(elsewhere.due_ms, now_ms + 500);
}

TEST(Throttle, ManyAccountsFromOnePlaceAreSlow) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(fail(throttle, "a", "user" + std::to_string(i), now_ms));
  EXPECT_GT(now_ms, 1'000'000 + 60'000);
}

TEST(Throttle, OneAccountFromManyPlacesIsSlowAndNeverRefused) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(fail(throttle, "place" + std::to_string(i), "ann", now_ms));
  const Throttle::Verdict owner = throttle.ask("home", "ann", now_ms);
  EXPECT_FALSE(owner.refused);
  EXPECT_GT(owner.due_ms, now_ms);
  EXPECT_LE(owner.due_ms, now_ms + 500);
}

TEST(Throttle, SuccessAndTimeForgive) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  throttle.note("a", "ann", true, now_ms);
  EXPECT_EQ(throttle.ask("a", "ann", now_ms).due_ms, now_ms);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(fail(throttle, "a", "bob", now_ms));
  now_ms += 61'000;
  EXPECT_EQ(throttle.ask("a", "bob", now_ms).due_ms, now_ms);
}

TEST(Throttle, RemembersNoMoreThanItsBound) {
  Throttle throttle;
  int64_t now_ms = 1'000'000;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(fail(throttle, "a", "ann", now_ms));
  for (size_t i = 0; i < limits::throttle_entries_max; ++i)
    throttle.note("p" + std::to_string(i), "u" + std::to_string(i), false, now_ms);
  EXPECT_EQ(throttle.ask("a", "ann", now_ms).due_ms, now_ms) << "the oldest gave way";
}

}  // namespace
}  // namespace postern::door
