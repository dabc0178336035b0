// shard.h: Cache::Shard, one part of the cache's memory: its items, their hash table, and their eviction.
//
// Everything except constant members is used while Shard::mutex is held. Commands are cache.cc's. Private to these two
// files.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/changing.h"
#include "items/cache/cache.h"
#include "items/expiry.h"

namespace postern::items {

/// Flushing is one addition: items of an earlier generation count as absent.
class Cache::Space {
 public:
  explicit Space(uint64_t number) : number_(number) {}

  uint64_t number() const { return number_; }

  uint64_t generation() const { return generation_.load(); }
  void flush() { ++generation_; }

 private:
  const uint64_t number_;
  std::atomic<uint64_t> generation_ = 0;
};

/// One item: this, its key, its value.
struct Cache::Entry {
  static constexpr uint8_t uses_max = 3;

  Entry *chained;  // the next one in its bucket, or of those to be freed
  Entry *newer;
  Entry *older;
  Space *space;
  uint64_t generation;
  uint64_t hash;
  uint64_t cas;
  int64_t expires_at;
  uint32_t flags;
  uint32_t value_bytes;
  uint8_t key_bytes;
  uint8_t uses;
  bool in_main;

  static size_t bytes_for(size_t key_bytes, size_t value_bytes) {
    // The size as rounded by malloc.
    return std::max<size_t>(32, (sizeof(Entry) + key_bytes + value_bytes + sizeof(size_t) + 15) & ~size_t{15});
  }
  size_t bytes() const { return bytes_for(key_bytes, value_bytes); }
  char *data() { return reinterpret_cast<char *>(this + 1); }
  Bytes key() { return {data(), key_bytes}; }
  char *value_data() { return data() + key_bytes; }
  Bytes value() { return {value_data(), value_bytes}; }
  Item item(int64_t now) {
    return {.value = value(), .flags = flags, .cas = cas, .expires_at = expires_at, .now = now};
  }
  bool is_over(int64_t now) const { return is_expired(expires_at, now) || generation != space->generation(); }
  void use() { uses = std::min<uint8_t>(uses_max, uses + 1); }
};

struct Cache::Queue {
  Entry *newest = nullptr;
  Entry *oldest = nullptr;
  size_t bytes = 0;
  size_t items = 0;

  void add(Entry *entry) {
    entry->newer = nullptr;
    entry->older = newest;
    (newest != nullptr ? newest->newer : oldest) = entry;
    newest = entry;
    bytes += entry->bytes();
    ++items;
  }
  void remove(Entry *entry) {
    (entry->newer != nullptr ? entry->newer->older : newest) = entry->older;
    (entry->older != nullptr ? entry->older->newer : oldest) = entry->newer;
    bytes -= entry->bytes();
    --items;
  }
};

/// Keeps the hashes of items that left the small queue unused, as many as there are items if the table has room.
class Cache::Ghosts {
 public:
  Ghosts() = default;
  Ghosts(const Ghosts &) = delete;
  Ghosts &operator=(const Ghosts &) = delete;
  ~Ghosts() { std::free(ghosts_); }
  bool prepare(size_t count);
  void swap(Ghosts &other) {
    std::swap(ghosts_, other.ghosts_);
    std::swap(count_, other.count_);
    std::swap(clock_, other.clock_);
  }
  size_t bytes() const { return count_ * sizeof(Ghost); }

  void add(uint64_t hash);
  /// Whether the hash is among the last `depth`; removes it then.
  bool take(uint64_t hash, size_t depth);

 private:
  static constexpr size_t places = 4;  // of one bucket
  struct Ghost {
    uint32_t print;  // 0: unused
    uint32_t came;   // clock_ when it was added
  };

  static uint32_t print_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 24) | 1; }
  Ghost *bucket_of(uint64_t hash) { return ghosts_ + (hash & (count_ - 1) & ~(places - 1)); }

  Ghost *ghosts_ = nullptr;
  size_t count_ = 0;
  uint32_t clock_ = 0;
};

/// The hash table of a shard.
struct Cache::Tables {
  Tables() = default;
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;
  ~Tables() { std::free(buckets); }
  /// For a shard of so many bytes.
  bool prepare(size_t shard_bytes);
  void swap(Tables &other) {
    std::swap(buckets, other.buckets);
    std::swap(buckets_count, other.buckets_count);
    ghosts.swap(other.ghosts);
  }
  Entry *&bucket_of(uint64_t hash) { return buckets[hash & (buckets_count - 1)]; }
  size_t bytes() const { return buckets_count * sizeof(Entry *) + ghosts.bytes(); }

  Entry **buckets = nullptr;
  size_t buckets_count = 0;
  Ghosts ghosts;
};

/// Everything except `mutex` is used while that is held, unless noted.
class alignas(64) Cache::Shard {
 public:
  /// Removed items, to be freed after the shard is unlocked, because freeing takes time.
  class Discarded {
   public:
    Discarded() = default;
    Discarded(const Discarded &) = delete;
    Discarded &operator=(const Discarded &) = delete;
    ~Discarded() {
      while (first_ != nullptr) std::free(std::exchange(first_, first_->chained));
    }
    void add(Entry *entry) { entry->chained = std::exchange(first_, entry); }

   private:
    Entry *first_ = nullptr;
  };

  ~Shard();
  bool prepare(size_t bytes);

  mutable std::mutex mutex;

  // These two without it.
  size_t bytes_max() const { return bytes_max_; }
  /// False if there is no memory for new tables.
  bool resize(size_t bytes);

  /// The live item, or null.
  Entry *find(const Space &space, Bytes key, uint64_t hash, int64_t now, Discarded &discarded);

  /// Inserts a new item, in place of `there` if that is not null.
  void put(Entry *entry, Entry *there, int64_t now, Discarded &discarded);
  void remove(Entry *entry, Discarded &discarded);

  void add_counts(Counts &counts) const;

 private:
  Queue &queue_of(const Entry *entry) { return entry->in_main ? main_ : small_; }
  void use_tables(Tables &fresh);
  void set_bytes(size_t bytes);

  void make_room(size_t bytes, int64_t now, Discarded &discarded);

  Tables tables_;
  Changing<size_t> bytes_max_ = 0;
  Queue small_;
  Queue main_;
  uint64_t stored_ = 0;
  uint64_t evictions_ = 0;
  uint64_t reclaimed_ = 0;
};

}  // namespace postern::items
