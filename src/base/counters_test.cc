#include "base/counters.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/log.h"

namespace postern {
namespace {

TEST(Counters, AbsorbAddsEveryRow) {
  Counters one;
  Counters two;
  one.add(Counter::sends, 3);
  one.add(Failure::not_open);
  two.add(Counter::sends, 4);
  two.absorb(one);
  EXPECT_EQ(two.get(Counter::sends), 7u);
  EXPECT_EQ(two.get(Failure::not_open), 1u);
  EXPECT_EQ(one.get(Counter::sends), 3u);
  EXPECT_EQ(two.get(Counter::workers_restarted), 0u);
}

TEST(Counters, ShardsShareNoCacheLine) {
  EXPECT_EQ(alignof(Counters) % 64, 0u);
  EXPECT_EQ(sizeof(Counters) % 64, 0u);
}

TEST(ThreadTallies, SumThreadsAndForgetCountsBeforeAReset) {
  ThreadTallies<Counter> tallies;
  const auto count = [&] { tallies.add(Counter::sends, Counter::receives); };
  count();
  std::thread(count).join();
  Tally<Counter> before;
  tallies.add_to(before);
  EXPECT_EQ(before.get(Counter::sends), 2u);
  EXPECT_EQ(before.get(Counter::receives), 2u);
  EXPECT_EQ(before.get(Counter::commits), 0u);
  tallies.reset();
  count();
  tallies.reset();
  count();
  Tally<Counter> after;
  tallies.add_to(after);
  EXPECT_EQ(after.get(Counter::sends), 1u);
}

TEST(ThreadTallies, OneDoesNotCountForAnother) {
  auto first = std::make_unique<ThreadTallies<Counter>>();
  first->add(Counter::sends);
  first.reset();
  ThreadTallies<Counter> second;
  second.add(Counter::commits);
  Tally<Counter> sum;
  second.add_to(sum);
  EXPECT_EQ(sum.get(Counter::sends), 0u);
  EXPECT_EQ(sum.get(Counter::commits), 1u);
}

TEST(Failures, EachHasANameAndASentence) {
  for (size_t i = 1; i < failure_count; ++i) {
    EXPECT_FALSE(failure_name(static_cast<Failure>(i)).empty());
    EXPECT_FALSE(failure_text(static_cast<Failure>(i)).empty());
  }
  EXPECT_EQ(failure_name(Failure::table_busy), "table_busy");
}

TEST(Log, LimiterLetsOneLinePassAndCountsTheRest) {
  log::Limited limited(3600);
  uint64_t missed = 99;
  EXPECT_TRUE(limited.pass(missed));
  EXPECT_EQ(missed, 0u);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limited.pass(missed));
  log::Limited eager(0);
  EXPECT_TRUE(eager.pass(missed));
  EXPECT_TRUE(eager.pass(missed));
}

std::string logged;

TEST(Log, LongLinesAreCut) {
  log::set_sink([](log::Level, const char *line) { logged = line; });
  log::note("%s", std::string(5'000, 'x').c_str());
  EXPECT_EQ(logged.size(), 1'023u);
  log::set_sink(nullptr);
}

}  // namespace
}  // namespace postern
