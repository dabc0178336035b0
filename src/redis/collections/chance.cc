#include "redis/collections/chance.h"

#include <random>
#include <set>

namespace postern::redis {

uint64_t random_below(uint64_t count) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  return random() % count;
}

std::vector<uint64_t> distinct_places(uint64_t length, uint64_t count) {
  std::vector<uint64_t> places;
  if (count >= length) {
    for (uint64_t place = 0; place < length; ++place) places.push_back(place);
    return places;
  }
  // Floyd's algorithm.
  std::set<uint64_t> chosen;
  for (uint64_t last = length - count; last < length; ++last) {
    const uint64_t place = random_below(last + 1);
    chosen.insert(chosen.contains(place) ? last : place);
  }
  places.assign(chosen.begin(), chosen.end());
  return places;
}

std::vector<uint64_t> repeated_places(uint64_t length, uint64_t count) {
  std::vector<uint64_t> places;
  if (length == 0) return places;
  for (uint64_t i = 0; i < count; ++i) places.push_back(random_below(length));
  return places;
}

}  // namespace postern::redis
