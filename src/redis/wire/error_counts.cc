#include "redis/wire/error_counts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>

namespace postern::redis::error_counts {
namespace {

constexpr Bytes words[] = {"ERR",      "BUSY",      "BUSYGROUP", "EXECABORT", "NOAUTH", "NOGROUP",
                           "NOPERM",   "NOPROTO",   "NOSCRIPT",  "NOTBUSY",   "OOM",    "READONLY",
                           "TRYAGAIN", "UNBLOCKED", "WRONGPASS", "WRONGTYPE"};

std::array<std::atomic<uint64_t>, std::size(words)> counts;

}  // namespace

void note(Bytes text) noexcept {
  const Bytes word = text.substr(0, text.find(' '));
  const auto *const known = std::find(std::begin(words), std::end(words), word);
  const auto at = known != std::end(words) ? static_cast<size_t>(known - std::begin(words)) : 0;
  counts[at].fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::pair<Bytes, uint64_t>> told() {
  std::vector<std::pair<Bytes, uint64_t>> found;
  for (size_t i = 0; i < counts.size(); ++i)
    if (const uint64_t count = counts[i].load(std::memory_order_relaxed); count != 0)
      found.emplace_back(words[i], count);
  return found;
}

void forget() noexcept {
  for (std::atomic<uint64_t> &count : counts) count.store(0, std::memory_order_relaxed);
}

}  // namespace postern::redis::error_counts
