#include "base/free_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace postern {
namespace {

TEST(FreeBlocks, ADepotTakesAChainFromOneListToAnother) {
  Depot depot(3);
  FreeList from{};
  std::set<void *> blocks;
  for (int i = 0; i < 4; ++i) {
    void *const block = std::malloc(64);
    blocks.insert(block);
    from.add(block);
  }
  void *const first = from.head;
  FreeList to{};
  EXPECT_FALSE(depot.fill(to)) << "there is nothing yet";
  EXPECT_TRUE(depot.relieve(from));
  EXPECT_EQ(from.count, 1u);
  EXPECT_FALSE(depot.relieve(from)) << "that is no chain";
  EXPECT_TRUE(depot.fill(to));
  EXPECT_EQ(to.count, 3u);
  EXPECT_EQ(to.head, first) << "the ones used last go";
  EXPECT_FALSE(depot.fill(from)) << "it was given once";
  for (FreeList *const list : {&from, &to})
    while (void *const block = list->take()) {
      EXPECT_EQ(blocks.erase(block), 1u);
      std::free(block);
    }
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(from.count + to.count, 0u);
}

TEST(FreeBlocks, AFullDepotTakesNoMore) {
  Depot depot(1);
  FreeList list{};
  size_t taken = 0;
  for (; taken < 1'000; ++taken) {
    list.add(std::malloc(64));
    if (!depot.relieve(list)) break;
  }
  EXPECT_GT(taken, 1u);
  EXPECT_LT(taken, 1'000u);
  EXPECT_EQ(list.count, 1u);
  list.drain();
  depot.drain();
  EXPECT_FALSE(depot.fill(list));
}

TEST(FreeBlocks, ThreadsNeverGetTheSameBlock) {
  Depot depot(4);
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number) {
    threads.emplace_back([&depot, &shared, number] {
      FreeList list{};
      std::vector<int *> mine;
      for (int round = 0; round < 20'000; ++round) {
        if (list.head == nullptr && !depot.fill(list))
          for (int i = 0; i < 4; ++i) list.add(std::malloc(64));
        auto *const block = static_cast<int *>(list.take());
        block[8] = number;
        mine.push_back(block);
        if (mine.size() < 12) continue;
        for (int *const one : mine) {
          if (one[8] != number) shared = true;
          list.add(one);
        }
        mine.clear();
        while (depot.relieve(list)) {
        }
      }
      for (int *const one : mine) std::free(one);
      list.drain();
    });
  }
  for (std::thread &thread : threads) thread.join();
  depot.drain();
  EXPECT_FALSE(shared) << "two threads had one block";
}

}  // namespace
}  // namespace postern
