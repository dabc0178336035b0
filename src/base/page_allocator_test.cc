#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <numeric>
#include <vector>

#include "base/page_allocator.h"

namespace postern {
namespace {

using Numbers = std::vector<uint64_t, PageAllocator<uint64_t>>;
constexpr size_t many = 1'000'000;

/// The number of resident pages of `numbers`.
size_t pages_in_memory(const Numbers &numbers) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = numbers.capacity() * sizeof(uint64_t);
  std::vector<unsigned char> in_memory((bytes + page_bytes - 1) / page_bytes);
  EXPECT_EQ(mincore(const_cast<uint64_t *>(numbers.data()), bytes, in_memory.data()), 0);
  return std::accumulate(in_memory.begin(), in_memory.end(), size_t{0},
                         [](size_t sum, unsigned char one) { return sum + (one & 1); });
}

TEST(PageAllocator, RoomThatNothingWasWrittenToTakesNoMemory) {
  Numbers numbers;
  numbers.reserve(many);
  EXPECT_EQ(pages_in_memory(numbers), 0u);
  numbers.push_back(1);
  EXPECT_EQ(pages_in_memory(numbers), 1u);
}

TEST(PageAllocator, GrowingFromFewToManyKeepsAllAndTakesNoMoreThanTheyNeed) {
  Numbers numbers;
  for (size_t count = 0; count < 5000; ++count) {
    numbers.reserve(2 * count);
    numbers.push_back(count);
  }
  for (size_t count = 0; count < 5000; ++count) ASSERT_EQ(numbers[count], count);
  numbers.reserve(many);
  EXPECT_EQ(pages_in_memory(numbers), (5000 * sizeof(uint64_t) + 4095) / 4096);
  Numbers others = numbers;
  EXPECT_EQ(others, numbers);
}

TEST(PageAllocator, RefusesWhatNoMachineHas) {
  EXPECT_THROW((void)PageAllocator<uint64_t>().allocate(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_THROW((void)PageAllocator<uint64_t>().allocate(SIZE_MAX / 16), std::bad_alloc);
}

}  // namespace
}  // namespace postern
