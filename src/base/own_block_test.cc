#include "base/own_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace postern {
namespace {

TEST(OwnBlock, IsRoomOfItsOwnWhateverItsSize) {
  for (const size_t bytes : {size_t{0}, size_t{1}, limits::own_block_bytes_mapped_min - 1,
                             limits::own_block_bytes_mapped_min, 3 * limits::own_block_bytes_mapped_min + 1}) {
    const OwnBlock one(bytes);
    const OwnBlock other(bytes);
    std::memset(one.data(), 'a', bytes);
    std::memset(other.data(), 'b', bytes);
    EXPECT_EQ(one.size(), bytes);
    if (bytes != 0) {
      EXPECT_EQ(one.data()[bytes - 1], 'a');
    }
  }
}

TEST(OwnBlock, ThatCannotBeHadThrows) {
  EXPECT_THROW(OwnBlock(std::numeric_limits<size_t>::max() / 4), std::bad_alloc);
}

}  // namespace
}  // namespace postern
