#include "base/arena.h"

#include <gtest/gtest.h>

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

TEST(Arena, GrowsWithoutMovingWhatItGaveOut) {
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

TEST(Arena, MovesWithWhatItGaveOut) {
  Arena from;
  const Bytes text = from.copy("stays");
  Arena to(std::move(from));
  EXPECT_EQ(text, "stays");
  EXPECT_EQ(from.bytes(), 0u);
  from.copy("usable again");
  from = std::move(to);
  EXPECT_EQ(text, "stays");
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

}  // namespace
}  // namespace postern
