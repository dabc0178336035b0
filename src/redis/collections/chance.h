// chance.h: random choices.
#pragma once

#include <cstdint>
#include <vector>

namespace postern::redis {

/// A number from 0 to `count` - 1. Any thread.
uint64_t random_below(uint64_t count);

/// `count` distinct places below `length`, sorted; all places if there are fewer. All choices are equally likely.
std::vector<uint64_t> distinct_places(uint64_t length, uint64_t count);

/// `count` places below `length`, in random order, with repetitions. None if there is no place.
std::vector<uint64_t> repeated_places(uint64_t length, uint64_t count);

}  // namespace postern::redis
