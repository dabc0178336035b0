// cache.h: Cache, the store in memory of the containers that live there alone.
//
// One per process, shared by all its workers. A command runs under the mutex of one shard, chosen by the hash of its
// container and key; nothing is waited for and next to nothing allocated while it is held. All shards together stay
// within the bytes given, which count keys, values, the headers of items, what malloc adds to each,
// and the tables; not counted are pages that malloc could not fill, and the one item that each thread is writing.
//
// The victims are chosen by S3-FIFO (Yang et al., SOSP 2023): new items enter a small queue of a tenth of the bytes;
// those that were used again there go on to the main queue, the others are evicted and only their hashes are
// remembered, so that an item that returns soon enters the main queue at once. An item that is read only once, as by a
// scan, therefore displaces no item in use. Reading moves nothing in the queues, it only counts.
//
// Expired and flushed items count as not there; they are freed when they are met.
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

  /// Receives a command's item while it is locked: it copies the parts that it needs, and calls no cache.
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
    uint64_t evictions = 0;  ///< items that were in force and had to make room
    uint64_t reclaimed = 0;  ///< items freed because they were over
  };

  /// Null if there is no memory for the tables. At least bytes_least are taken as given.
  static std::unique_ptr<Cache> make(size_t bytes_max);
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;
  ~Cache();

  /// The items of the container of that name; there is one for each name ever asked for. Takes a mutex and looks the
  /// name up: keep the result.
  Space &space(Bytes container);

  /// Does what `command` asks with its key, or with all keys (flush), at once and as a whole. `cas`: what an item
  /// that is written shall have, unless the command brings its own. `now`: on the clock of ItemCommand::expires_at.
  /// Fails as request_too_large (more than any shard has), out_of_memory or bad_key_value.
  ItemOutcome carry_out(Space &space, const ItemCommand &command, uint64_t cas, int64_t now, Reader &reader);

  Counts counts() const;
  size_t bytes_max() const { return bytes_max_; }
  /// Resizes the cache to so many bytes, at least bytes_least. Items above that are evicted as others come; tables are
  /// rebuilt where they would be much too small or too large, at some 50 ns for each item. False if there is no memory
  /// for those: then nothing changes. One thread at a time, while others use the cache.
  /// memory for those: then nothing changes. One thread at a time, beside all that use it.
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

  std::array<uint64_t, 2> secret_{};  ///< nobody outside can choose keys that meet in one bucket
  Changing<size_t> bytes_max_ = 0;
  size_t shards_count_ = 0;
  std::unique_ptr<Shard[]> shards_;
  std::mutex spaces_mutex_;
  std::map<std::string, std::unique_ptr<Space>, std::less<>> spaces_;
};

}  // namespace postern::items
