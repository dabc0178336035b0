#include "sqldoor/plan_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace postern::sqldoor {
namespace {

class KeptPlan final : public Plan {
 public:
  explicit KeptPlan(uint32_t values) : values_(values) {}
  uint32_t values() const override { return values_; }
  bool holds() const override { return holds_; }

  std::atomic<bool> holds_{true};

 private:
  uint32_t values_;
};

PlanKey key_of(Bytes form, uint64_t dialect = 1) {
  return {dialect, std::hash<std::string_view>()(form), form};
}

TEST(PlanCache, FindsLearntForms) {
  PlanCache cache(1 << 20);
  const auto plan = std::make_shared<KeptPlan>(2);
  EXPECT_EQ(cache.find(key_of("a")), nullptr);
  cache.learn(key_of("a"), {.plan = plan});
  ASSERT_NE(cache.find(key_of("a")), nullptr);
  EXPECT_EQ(cache.find(key_of("a"))->plan(), plan.get());
}

TEST(PlanCache, ADialectIsAnotherForm) {
  PlanCache cache(1 << 20);
  cache.learn(key_of("a", 1), {.plan = std::make_shared<KeptPlan>(1)});
  EXPECT_EQ(cache.find(key_of("a", 2)), nullptr);
}

TEST(PlanCache, EqualHashesAreNoEqualForms) {
  PlanCache cache(1 << 20);
  cache.learn({1, 7, "a"}, {.plan = std::make_shared<KeptPlan>(1)});
  EXPECT_EQ(cache.find({1, 7, "b"}), nullptr);
  PlanFront front(cache);
  ASSERT_NE(front.find({1, 7, "a"}), nullptr);
  EXPECT_EQ(front.find({1, 7, "b"}), nullptr);
}

TEST(PlanCache, ThatThereIsNoneIsRememberedForAWhile) {
  PlanCache cache(1 << 20);
  PlanFront front(cache);
  cache.learn(key_of("a"), {});
  uint64_t found = 0;
  while (found < 3 * PlanCache::refusals_believed) {
    const KnownForm *const known = front.find(key_of("a"));
    if (known == nullptr) break;
    EXPECT_EQ(known->plan(), nullptr);
    ++found;
  }
  EXPECT_GE(found, PlanCache::refusals_believed - 64);
  EXPECT_LE(found, PlanCache::refusals_believed + 64);
}

TEST(PlanCache, ARefusalOfATableIsDoubtedSooner) {
  PlanCache cache(1 << 20);
  PlanFront front(cache);
  cache.learn(key_of("a"), {.of_table = true});
  uint64_t found = 0;
  while (front.find(key_of("a")) != nullptr) ++found;
  EXPECT_GE(found, PlanCache::refusals_of_tables_believed - 64);
  EXPECT_LE(found, PlanCache::refusals_of_tables_believed + 64);
}

TEST(PlanCache, APlanThatHoldsNoLongerIsForgotten) {
  PlanCache cache(1 << 20);
  PlanFront front(cache);
  const auto plan = std::make_shared<KeptPlan>(1);
  cache.learn(key_of("a"), {.plan = plan});
  ASSERT_NE(front.find(key_of("a")), nullptr);
  plan->holds_ = false;
  EXPECT_EQ(front.find(key_of("a")), nullptr);
}

TEST(PlanCache, CountsGoOnWhenAFormIsLearntAnew) {
  PlanCache cache(1 << 20);
  const auto plan = std::make_shared<KeptPlan>(1);
  cache.learn(key_of("a"), {.plan = plan});
  const auto found = cache.find(key_of("a"));
  ASSERT_NE(found, nullptr);
  found->count(5);
  found->times()->add_by_server(3, 1000);
  plan->holds_ = false;
  const auto again = cache.learn(key_of("a"), {});
  EXPECT_EQ(cache.all().size(), 1u);
  EXPECT_EQ(again->hits(), 5u);
  EXPECT_EQ(again->times()->server().runs(), 3u);
}

TEST(PlanCache, ASessionThatLearnsNothingLeavesPlansAlone) {
  PlanCache cache(1 << 20);
  cache.learn(key_of("a"), {.plan = std::make_shared<KeptPlan>(1)});
  cache.learn(key_of("a"), {.of_session = true});
  ASSERT_NE(cache.find(key_of("a")), nullptr);
  EXPECT_NE(cache.find(key_of("a"))->plan(), nullptr);
}

TEST(PlanCache, SessionsThatLearnAFormAtOnceShareTheFirstPlan) {
  PlanCache cache(1 << 20);
  const auto first = std::make_shared<KeptPlan>(1);
  cache.learn(key_of("a"), {.plan = first});
  EXPECT_EQ(cache.learn(key_of("a"), {.plan = std::make_shared<KeptPlan>(1)})->plan(), first.get());
  EXPECT_EQ(cache.find(key_of("a"))->plan(), first.get());
}

TEST(PlanCache, ARefusalOfASessionIsDoubtedAtOnce) {
  PlanCache cache(1 << 20);
  PlanFront front(cache);
  cache.learn(key_of("a"), {.of_session = true});
  uint64_t found = 0;
  while (front.find(key_of("a")) != nullptr) ++found;
  EXPECT_LE(found, PlanCache::refusals_of_sessions_believed);
}

TEST(PlanCache, FrontsFindFormsThatWereLearntAnew) {
  PlanCache cache(1 << 20);
  PlanFront front(cache);
  cache.learn(key_of("a"), {});
  ASSERT_NE(front.find(key_of("a")), nullptr);
  cache.learn(key_of("a"), {.plan = std::make_shared<KeptPlan>(3)});
  EXPECT_EQ(front.find(key_of("a"))->plan()->values(), 3u);
}

TEST(PlanCache, IsBoundedAndKeepsUsedForms) {
  constexpr size_t room = 1 << 20;
  PlanCache cache(room);
  PlanFront front(cache);
  cache.learn(key_of("used"), {.plan = std::make_shared<KeptPlan>(1)});
  for (int i = 0; i < 5'000; ++i) {
    cache.learn(key_of("form " + std::to_string(i)), {});
    ASSERT_NE(cache.find(key_of("used")), nullptr) << i;
  }
  EXPECT_LE(cache.all().size(), room / PlanCache::plan_bytes);
  EXPECT_GE(cache.all().size(), room / PlanCache::plan_bytes / 2);
}

TEST(PlanCache, HitsAreCounted) {
  PlanCache cache(1 << 20);
  cache.learn(key_of("a"), {.plan = std::make_shared<KeptPlan>(1)});
  {
    PlanFront one(cache);
    PlanFront two(cache);
    for (int i = 0; i < 100; ++i) one.find(key_of("a"));
    for (int i = 0; i < 11; ++i) two.find(key_of("a"));
  }
  EXPECT_EQ(cache.all().at(0)->hits(), 111u);
}

TEST(PlanCache, ManyThreadsAtOnce) {
  PlanCache cache(100 * PlanCache::plan_bytes);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, thread] {
      PlanFront front(cache);
      for (int i = 0; i < 5'000; ++i) {
        const std::string form = "form " + std::to_string((i * 7 + thread) % 200);
        const KnownForm *const known = front.find(key_of(form));
        if (known == nullptr || i % 100 == 0) {
          cache.learn(key_of(form), {.plan = i % 3 == 0 ? nullptr : std::make_shared<KeptPlan>(i)});
        } else {
          ASSERT_EQ(known->form(), form);
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
}  // namespace postern::sqldoor
