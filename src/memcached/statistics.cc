#include "memcached/statistics.h"

namespace postern::memcached {
namespace {

std::atomic<uint64_t> last_serial{0};

}  // namespace

Statistics::Statistics() : serial_(last_serial.fetch_add(1) + 1) {}

Statistics::~Statistics() = default;

std::array<std::atomic<uint64_t>, statistic_count> &Statistics::shard() {
  // Trivial, so that the library can be unloaded while the thread lives on.
  thread_local uint64_t of_serial = 0;
  thread_local Shard *own = nullptr;
  if (of_serial != serial_) {
    own = &make_shard();
    of_serial = serial_;
  }
  return own->counts;
}

Statistics::Shard &Statistics::make_shard() {
  const std::lock_guard guard(mutex_);
  return *shards_.emplace_back(std::make_unique<Shard>());
}

Statistics::Sums Statistics::total() const {
  Sums sums{};
  for (const auto &shard : shards_) {
    for (size_t i = 0; i < statistic_count; ++i) sums[i] += shard->counts[i].load(std::memory_order_relaxed);
  }
  return sums;
}

Statistics::Sums Statistics::sum() const {
  const std::lock_guard guard(mutex_);
  Sums sums = total();
  for (size_t i = 0; i < statistic_count; ++i) sums[i] -= forgotten_[i];
  return sums;
}

void Statistics::reset() {
  prefixes_.reset();
  const std::lock_guard guard(mutex_);
  forgotten_ = total();
}

}  // namespace postern::memcached
