// chance.h: random choices.
#pragma once

#include <cstdint>
#include <vector>

namespace postern::redis {

/// A number from 0 to `count` - 1. Any thread.
uint64_t random_below(uint64_t count);

/// `count` places below `length`, each once, sorted; all there are if those are less. Each choice has the same chance.
std::vector<uint64_t> distinct_places(uint64_t length, uint64_t count);

/// `count` places below `length`, in no order; the same may come again. None if there is no place.
std::vector<uint64_t> repeated_places(uint64_t length, uint64_t count);

}  // namespace postern::redis
