#include "base/arena.h"
#include "base/block_arena.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postern {
namespace {

TEST(Arena, AlignsAndInitialises) {
  Arena arena;
  arena.copy("x");
  uint64_t *const number = arena.make<uint64_t>(uint64_t{7});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(number) % alignof(uint64_t), 0u);
  arena.copy("yz");
  const std::span<uint32_t> numbers = arena.array<uint32_t>(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % alignof(uint32_t), 0u);
  for (const uint32_t one : numbers) EXPECT_EQ(one, 0u);
  EXPECT_EQ(*number, 7u);
  EXPECT_TRUE(arena.array<uint32_t>(0).empty());
}

TEST(Arena, GrowsWithoutMovingItsObjects) {
  Arena arena;
  const Bytes first = arena.copy("first");
  for (int i = 0; i < 10'000; ++i) arena.make<uint64_t>(uint64_t{1});
  const std::string large(1 << 20, 'l');
  EXPECT_EQ(arena.copy(large), large);
  EXPECT_EQ(first, "first");
}

TEST(Arena, KeepsSomeAndGivesTheRestBack) {
  Arena arena;
  for (int i = 0; i < 100; ++i) arena.array<char>(10'000);
  const size_t most = arena.bytes();
  arena.clear();
  EXPECT_LE(arena.bytes(), limits::arena_bytes_kept);
  EXPECT_LT(arena.bytes(), most);
  arena.array<char>(limits::arena_bytes_kept * 2);
  arena.clear();
  EXPECT_LE(arena.bytes(), limits::arena_bytes_kept);
}

TEST(Arena, KeptObjectsOutliveTheBatchAndTheArena) {
  Arena::Kept kept;
  Bytes text;
  std::span<uint64_t> numbers;
  {
    Arena arena;
    arena.copy("of somebody else");
    const Arena::Mark from = arena.mark();
    text = arena.copy("stays");
    numbers = arena.array<uint64_t>(100'000);
    numbers.back() = 7;
    ASSERT_TRUE(kept.keep(arena, from, arena.mark()));
    arena.clear();
    const std::string other(2'000'000, 'o');
    arena.copy(other);
    for (int i = 0; i < 10'000; ++i) arena.copy("overwrites");
  }
  EXPECT_EQ(text, "stays");
  EXPECT_EQ(numbers.back(), 7u);
}

TEST(Arena, MemoryThatIsNoLongerKeptIsUsedAgain) {
  Arena arena;
  Arena::Kept kept;
  const void *const first = arena.make<int>(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(kept.keep(arena, {}, arena.mark()));
    kept.release();
    arena.clear();
    EXPECT_EQ(arena.make<int>(i), first);
  }
  const size_t bytes = arena.bytes();
  ASSERT_TRUE(kept.keep(arena, {}, arena.mark()));
  arena.clear();
  EXPECT_EQ(arena.bytes(), 0u) << "it is still kept";
  EXPECT_NE(arena.make<int>(4), first);
  EXPECT_EQ(arena.bytes(), bytes);
}

TEST(Arena, KeptObjectsAreCountedAndFewOfOtherRequests) {
  const size_t before = pool::large_bytes();
  Arena arena;
  std::vector<Arena::Kept> all(150);
  for (Arena::Kept &kept : all) {
    for (int i = 0; i < 60; ++i) arena.array<char>(65'536);
    const Arena::Mark from = arena.mark();
    arena.array<char>(100);
    ASSERT_TRUE(kept.keep(arena, from, arena.mark()));
    for (int i = 0; i < 60; ++i) arena.array<char>(65'536);
    for (int i = 0; i < 100'000; ++i) arena.make<uint64_t>();
    arena.clear();
    EXPECT_LE(arena.bytes(), limits::arena_bytes_kept);
  }
  EXPECT_GT(pool::large_bytes() - before, 150u * 100);
  EXPECT_LT(pool::large_bytes() - before, 150u * 20'000);
  all.clear();
  EXPECT_EQ(pool::large_bytes(), before);
}

TEST(Arena, NothingIsKeptBeyondTheBound) {
  Arena arena;
  arena.array<char>(100'000);
  pool::set_large_bytes_max(pool::large_bytes() + 50'000);
  Arena::Kept kept;
  EXPECT_FALSE(kept.keep(arena, {}, arena.mark()));
  pool::set_large_bytes_max(limits::buffer_bytes_max);
  EXPECT_TRUE(kept.keep(arena, {}, arena.mark()));
}

TEST(Arena, TakesForTheSameBatchAgainNoMoreThanBefore) {
  Arena arena;
  const auto batch = [&arena] {
    char *first = nullptr;
    for (size_t taken = 0; taken < limits::arena_bytes_kept / 2; taken += 1'000) {
      char *const at = arena.array<char>(1'000).data();
      if (first == nullptr) first = at;
    }
    arena.array<char>(50'000);
    return first;
  };
  char *const first = batch();
  const size_t held = arena.bytes();
  for (int i = 0; i < 3; ++i) {
    arena.clear();
    EXPECT_EQ(arena.bytes(), held);
    EXPECT_EQ(batch(), first);
    EXPECT_EQ(arena.bytes(), held);
  }
}

TEST(BlockArena, KeepsWhatItWasGivenAndGivesItsBlocksBack) {
  const size_t before = pool::large_bytes();
  {
    BlockArena arena;
    std::vector<std::pair<std::string, Bytes>> all;
    for (const size_t size : {1u, 3'000u, 5'000u, 70'000u, 300'000u, 10u, 100'000u, 0u}) {
      const std::string text(size, static_cast<char>('a' + all.size()));
      all.emplace_back(text, arena.copy(text));
      const std::span<uint64_t> numbers = arena.array<uint64_t>(3);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % alignof(uint64_t), 0u);
      EXPECT_EQ(numbers[2], 0u);
    }
    for (const auto &[text, kept] : all) EXPECT_TRUE(text == kept);
    EXPECT_EQ(arena.used(), 478'011u + 8 * 3 * sizeof(uint64_t));
    EXPECT_GT(pool::large_bytes(), before + 470'000);
    EXPECT_LT(pool::large_bytes(), before + 3 * 478'011u);
  }
  EXPECT_EQ(pool::large_bytes(), before);
}

TEST(BlockArena, HasNothingWhereThereIsNoMemory) {
  pool::set_large_bytes_max(pool::large_bytes());
  {
    BlockArena arena;
    EXPECT_EQ(arena.copy(std::string(100'000, 'x')).size(), 0u);
    EXPECT_EQ(arena.copy("small"), "small");
  }
  pool::set_large_bytes_max(limits::buffer_bytes_max);
}

}  // namespace
}  // namespace postern
