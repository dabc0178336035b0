#include "base/slab.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace postern {
namespace {

struct Small {
  uint64_t words[5];
};
struct Larger : Small {
  uint64_t more;
};

class SlabTest : public ::testing::Test {
 protected:
  ~SlabTest() override {
    for (void *const object : objects_) slab_.give_back(object, sizeof(Small));
  }
  void *take() {
    void *const object = slab_.take(sizeof(Small));
    std::memset(object, 1, sizeof(Small));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(object) % alignof(Small), 0u);
    EXPECT_TRUE(objects_.insert(object).second) << "it is another's";
    return object;
  }
  void give_back(void *object) {
    objects_.erase(object);
    slab_.give_back(object, sizeof(Small));
  }

  Slab slab_{sizeof(Small)};
  std::set<void *> objects_;
};

TEST_F(SlabTest, GivesEachObjectMemoryOfItsOwn) {
  for (int i = 0; i < 2'000; ++i) take();
  while (objects_.size() > 1'000) give_back(*objects_.begin());
  for (int i = 0; i < 3'000; ++i) take();
  for (const void *const object : objects_)
    for (const uint64_t word : static_cast<const Small *>(object)->words) EXPECT_EQ(word, 0x0101010101010101u);
}

TEST_F(SlabTest, BeginsAnewAfterTheLastObject) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1'000; ++i) take();
    while (!objects_.empty()) give_back(*objects_.begin());
  }
}

TEST_F(SlabTest, LeavesOtherSizesToTheCLibrary) {
  void *const heir = slab_.take(sizeof(Larger));
  std::memset(heir, 2, sizeof(Larger));
  take();
  slab_.give_back(heir, sizeof(Larger));
}

TEST_F(SlabTest, IsForAnyThread) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this] {
      std::vector<void *> mine;
      for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 100; ++i) mine.push_back(slab_.take(sizeof(Small)));
        for (void *const object : mine) std::memset(object, round, sizeof(Small));
        while (mine.size() > 50) {
          slab_.give_back(mine.back(), sizeof(Small));
          mine.pop_back();
        }
      }
      for (void *const object : mine) slab_.give_back(object, sizeof(Small));
    });
  for (std::thread &thread : threads) thread.join();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(SlabTest, AddsNothingToAnObject) {
  constexpr size_t count = 10'000;
  std::vector<void *> objects(count);
  const size_t before = mallinfo2().uordblks;
  for (void *&object : objects) object = slab_.take(sizeof(Small));
  EXPECT_LE(mallinfo2().uordblks - before, count * sizeof(Small) + 20'000);
  for (void *const object : objects) slab_.give_back(object, sizeof(Small));
  EXPECT_LE(mallinfo2().uordblks, before) << "all of it has gone back";
}
#endif

}  // namespace
}  // namespace postern
