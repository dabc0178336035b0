// A full cache, and one that threads share.
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "items/cache/cache.h"
#include "items/cache/testing/copy.h"

namespace postern::items {
namespace {

constexpr int64_t start_time = 1'800'000'000;

TEST(CacheMemory, IsAsLargeAsItReports) {
  for (const size_t value_bytes : {1, 30, 500, 20'000, 900'000}) {
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    const std::unique_ptr<Cache> cache = Cache::make(size_t{32} << 20);
    Cache::Space &space = cache->space("default");
    Copy copy;
    const std::string value(value_bytes, 'v');
    for (size_t i = 0; i * (value_bytes + 100) < 2 * cache->bytes_max(); ++i) {
      const std::string key = std::to_string(i);
      ItemCommand command;
      command.action = ItemAction::set;
      command.key = key;
      command.value = value;
      ASSERT_EQ(cache->carry_out(space, command, i, start_time, copy).failure, Failure::none);
    }
    const size_t taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    EXPECT_GT(cache->counts().evictions, 0u) << value_bytes;
    EXPECT_LE(cache->counts().bytes, cache->bytes_max()) << value_bytes;
    // Large values are allocated in whole pages.
    EXPECT_LE(taken, cache->bytes_max() + cache->bytes_max() / 50) << value_bytes;
  }
}

TEST(CacheThreads, CountWithoutLossAndNeverSeeHalfAnItem) {
  const std::unique_ptr<Cache> cache = Cache::make(Cache::bytes_least);
  std::atomic<uint64_t> cas = 0;
  std::atomic<uint64_t> torn = 0;
  constexpr int rounds = 20'000;
  const auto hammer = [&](unsigned number) {
    std::mt19937_64 random(number);
    Cache::Space &space = cache->space(number % 2 == 0 ? "even" : "odd");
    Cache::Space &shared = cache->space("shared");
    Copy copy;
    for (int i = 0; i < rounds; ++i) {
      ItemCommand command;
      command.key = "counter";
      command.action = ItemAction::increment;
      command.creates = true;
      command.initial = 1;
      // It is read all the time, so it stays, however many others come.
      cache->carry_out(shared, command, ++cas, start_time, copy);
      const std::string key = std::to_string(random() % 500);
      // A value is one letter repeated; a reader that sees two letters sees a half-done write.
      const std::string value(random() % 10'000, static_cast<char>('a' + random() % 26));
      command = ItemCommand{};
      command.key = key;
      command.value = value;
      command.action = std::array{ItemAction::set, ItemAction::get, ItemAction::get, ItemAction::erase,
                                  ItemAction::add}[random() % 5];
      Cache::Space &where = random() % 2 == 0 ? shared : space;
      const ItemOutcome outcome = cache->carry_out(where, command, ++cas, start_time, copy);
      if (command.action == ItemAction::get && outcome.result == Result::done)
        torn += copy.value().find_first_not_of(copy.value().substr(0, 1)) != std::string::npos;
      if (i % 1'000 == 0) {
        command.action = ItemAction::flush;
        cache->carry_out(space, command, ++cas, start_time, copy);
      }
    }
  };
  std::thread one(hammer, 1);
  std::thread two(hammer, 2);
  std::atomic<bool> over = false;
  std::thread resizer([&] {
    for (size_t factor = 1; !over; factor = factor % 20 + 1) {
      EXPECT_TRUE(cache->resize(Cache::bytes_least * factor));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  one.join();
  two.join();
  over = true;
  resizer.join();
  EXPECT_EQ(torn, 0u);
  ItemCommand command;
  command.action = ItemAction::get;
  command.key = "counter";
  Copy copy;
  ASSERT_EQ(cache->carry_out(cache->space("shared"), command, 0, start_time, copy).result, Result::done);
  EXPECT_EQ(copy.value(), std::to_string(2 * rounds));
}

}  // namespace
}  // namespace postern::items
