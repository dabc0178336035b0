// cache.h: Cache, the in-memory store of containers without a table.
//
// One per process, shared by all its workers. A command runs under the mutex of one shard, chosen by the hash of its
// container and key; while it is held nothing waits and hardly anything is allocated. All shards together stay within
// the bytes given, which count keys, values, the headers of items, what malloc adds to each, and the tables; not
// counted are malloc's fragmentation, and the one item that each thread is writing.
//
// The victims are chosen by S3-FIFO (Yang et al., SOSP 2023): new items enter a small queue of a tenth of the bytes;
// items used again there move to the main queue, the others are evicted and only their hashes are kept, so that an item
// that returns soon enters the main queue at once. So an item that is read only once, as by a scan, displaces no item
// in use. Reading does not move items in the queues, it only counts.
//
// Expired and flushed items count as absent; they are freed when they are met.
//
//   std::unique_ptr<Cache> cache = Cache::make(size_t{64} << 20);
//   Cache::Space &users = cache->space("users");
//   const ItemOutcome outcome = cache->carry_out(users, command, cas, now, reader);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/changing.h"
#include "items/item.h"
#include "items/item_command.h"

namespace postern::items {

class Cache {
 public:
  static constexpr size_t bytes_least = size_t{1} << 20;
  static constexpr size_t key_bytes_max = UINT8_MAX;

  /// One container's items. Lives as long as the cache; may be used by any thread.
  class Space;

  /// Receives a command's item while it is locked: must copy what it needs, and not call the cache.
  class Reader {
   public:
    /// A get has hit.
    virtual void item(const Item &item) = 0;

   protected:
    ~Reader() = default;
  };

  struct Counts {
    uint64_t items = 0;
    uint64_t bytes = 0;      ///< of bytes_max, the tables among them
    uint64_t stored = 0;     ///< items ever stored
    uint64_t evictions = 0;  ///< live items that were evicted
    uint64_t reclaimed = 0;  ///< items freed because they had expired
  };

  /// Null if there is no memory for the tables. Uses at least bytes_least.
  static std::unique_ptr<Cache> make(size_t bytes_max);
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;
  ~Cache();

  /// The items of the container of that name, made at the first call. Takes a mutex and looks the name up: keep the
  /// result.
  Space &space(Bytes container);

  /// Carries out `command` on its key, or on all keys (flush), atomically. `cas`: the CAS of a written item, unless the
  /// command brings its own. `now`: on the clock of ItemCommand::expires_at. Fails as request_too_large (more than any
  /// shard has), out_of_memory or bad_key_value.
  ItemOutcome carry_out(Space &space, const ItemCommand &command, uint64_t cas, int64_t now, Reader &reader);

  Counts counts() const;
  size_t bytes_max() const { return bytes_max_; }
  /// Resizes the cache to so many bytes, at least bytes_least. Items above that are evicted as others come; tables are
  /// rebuilt where they would be much too small or too large, at some 50 ns for each item. False if there is no memory
  /// for those: then nothing changes. One thread at a time; others may use the cache meanwhile. memory for those: then
  /// nothing changes. One thread at a time, beside all that use it.
  [[nodiscard]] bool resize(size_t bytes_max);

 private:
  struct Entry;
  struct Queue;
  struct CacheCommand;
  class Ghosts;
  struct Tables;
  class Shard;

  Cache() = default;

  uint64_t hash_of(const Space &space, Bytes key) const;
  static ItemOutcome store(const CacheCommand &command);
  static ItemOutcome join(const CacheCommand &command, Entry &there);
  static ItemOutcome count(const CacheCommand &command);

  std::array<uint64_t, 2> secret_{};  ///< clients cannot choose keys that collide in one bucket
  Changing<size_t> bytes_max_ = 0;
  size_t shards_count_ = 0;
  std::unique_ptr<Shard[]> shards_;
  std::mutex spaces_mutex_;
  std::map<std::string, std::unique_ptr<Space>, std::less<>> spaces_;
};

}  // namespace postern::items
