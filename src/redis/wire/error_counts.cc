#include "redis/wire/error_counts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

namespace postern::redis::error_counts {
namespace {

constexpr Bytes words[] = {"ERR",      "BUSY",      "BUSYGROUP", "EXECABORT", "NOAUTH", "NOGROUP",
                           "NOPERM",   "NOPROTO",   "NOSCRIPT",  "NOTBUSY",   "OOM",    "READONLY",
                           "TRYAGAIN", "UNBLOCKED", "WRONGPASS", "WRONGTYPE"};

std::array<std::atomic<uint64_t>, std::size(words)> counts;

/// Error codes that scripts have made up.
constexpr size_t others_max = 128;
constexpr size_t word_bytes_max = 32;
std::mutex others_mutex;  // a leaf
std::map<std::string, uint64_t, std::less<>> others;

/// Returns false if there are too many words.
bool note_other(Bytes word) noexcept {
  const std::lock_guard guard(others_mutex);
  const auto known = others.find(word);
  if (known != others.end()) return ++known->second, true;
  if (others.size() == others_max) return false;
  try {
    others.emplace(word, 1);
    return true;
  } catch (const std::bad_alloc &) {
    return false;
  }
}

}  // namespace

void note(Bytes text) noexcept {
  const size_t end = text.find(' ');
  const Bytes word = text.substr(0, end);
  const auto *const known = std::find(std::begin(words), std::end(words), word);
  if (known == std::end(words) && end != Bytes::npos && end <= word_bytes_max && note_other(word)) return;
  const auto at = known != std::end(words) ? static_cast<size_t>(known - std::begin(words)) : 0;
  counts[at].fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::pair<std::string, uint64_t>> told() {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (size_t i = 0; i < counts.size(); ++i)
    if (const uint64_t count = counts[i].load(std::memory_order_relaxed); count != 0)
      found.emplace_back(words[i], count);
  const std::lock_guard guard(others_mutex);
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

void forget() noexcept {
  {
    const std::lock_guard guard(others_mutex);
    others.clear();
  }
  for (std::atomic<uint64_t> &count : counts) count.store(0, std::memory_order_relaxed);
}

}  // namespace postern::redis::error_counts
