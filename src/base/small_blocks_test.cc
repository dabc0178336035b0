#include "base/small_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/pool.h"

namespace postern::small_blocks {
namespace {

TEST(SmallBlocks, AReleasedBlockIsTheNextOneOfItsSize) {
  void *const first = acquire(100);
  std::memset(first, 1, 128);  // sizes are rounded up
  release(first, 100);
  void *const other = acquire(200);
  EXPECT_NE(other, first);
  EXPECT_EQ(acquire(128), first);
  release(first, 128);
  release(other, 200);
  pool::drain();
}

TEST(SmallBlocks, BlocksInUseLieApart) {
  std::set<char *> starts;
  for (size_t bytes = 0; bytes <= 2 * bytes_max; bytes += 31) {
    auto *const block = static_cast<char *>(acquire(bytes));
    std::memset(block, 7, bytes);
    EXPECT_TRUE(starts.insert(block).second);
    release(block, bytes);
    starts.erase(block);
  }
  std::vector<char *> all;
  for (int i = 0; i < 10'000; ++i)
    EXPECT_TRUE(starts.insert(all.emplace_back(static_cast<char *>(acquire(64)))).second);
  for (char *const block : all) release(block, 64);  // more than a thread keeps
  drain();
}

TEST(SmallBlocks, AnotherThreadMayReleaseABlock) {
  void *const block = acquire(300);
  std::thread([block] {
    release(block, 300);
    EXPECT_EQ(acquire(300), block);
    release(block, 300);
    pool::drain();
  }).join();
}

TEST(SmallBlocks, ContainersMayUseThem) {
  std::vector<int, Allocator<int>> numbers;
  for (int i = 0; i < 5'000; ++i) numbers.push_back(i);
  EXPECT_EQ(numbers[4'999], 4'999);
}

}  // namespace
}  // namespace postern::small_blocks
