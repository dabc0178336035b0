// cache.h: Cache, the store in memory of the containers that live there alone.
//
// One per process, shared by all its workers. A command runs under the mutex of one shard, chosen by the hash of its
// container and key; nothing is waited for and next to nothing allocated while it is held. All shards together stay
// within the bytes given at construction, which count keys, values, the headers of items, what malloc adds to each,
// and the tables; not counted are pages that malloc could not fill, and the one item that each thread is writing.
//
// What makes room for what is new is chosen by S3-FIFO (Yang et al., SOSP 2023): new items enter a small queue of a
// tenth of the bytes; those that were used again there go on to the main queue, the others leave and only their
// hashes are remembered, so that one who returns soon enters the main queue at once. Whoever is read only once, as by
// a scan, therefore displaces nothing that is in use. Reading moves nothing in the queues, it only counts.
//
// Expired and flushed items count as not there; they are freed when they are met.
//
//   std::unique_ptr<Cache> cache = Cache::make(size_t{64} << 20);
//   Cache::Space &users = cache->space("users");
//   const Cache::Outcome outcome = cache->carry_out(users, request, cas, now, reader);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/failure.h"
#include "memcached/wire/form.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

class Cache {
 public:
  static constexpr size_t bytes_least = size_t{1} << 20;

  /// One container's items. Lives as long as the cache; may be used by any thread.
  class Space;

  /// Hears what a command finds, while the item is locked: it copies what it needs, and calls no cache.
  class Reader {
   public:
    /// A get has hit.
    virtual void item(const Item &item) = 0;
    /// An increment or decrement was done; `item` is what it left.
    virtual void number(uint64_t number, const Item &item) = 0;

   protected:
    ~Reader() = default;
  };

  struct Outcome {
    Failure failure = Failure::none;  ///< request_too_large: for any shard; out_of_memory. Nothing has changed.
    Result result = Result::done;     ///< if there is no failure; done of a get or a number: the reader was called
    uint64_t cas = 0;                 ///< of the item, if it was written
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
  /// name up: keep what it returns.
  Space &space(Bytes container);

  /// Does what `request` asks with its key, or with all keys (flush), at once and as a whole. `cas`: what an item
  /// that is written shall have, unless the request brings its own. `now`: seconds since 1970.
  Outcome carry_out(Space &space, const Request &request, uint64_t cas, int64_t now, Reader &reader);

  Counts counts() const;
  size_t bytes_max() const { return bytes_max_; }

 private:
  struct Entry;
  struct Queue;
  struct Command;
  class Ghosts;
  class Shard;

  Cache() = default;

  uint64_t hash_of(const Space &space, Bytes key) const;
  Outcome store(const Command &command);
  static Outcome join(const Command &command, Entry &there);
  static Outcome count(const Command &command, Reader &reader);

  std::array<uint64_t, 2> secret_{};  ///< nobody outside can choose keys that meet in one bucket
  size_t bytes_max_ = 0;
  size_t shards_count_ = 0;
  std::unique_ptr<Shard[]> shards_;
  std::mutex spaces_mutex_;
  std::map<std::string, std::unique_ptr<Space>, std::less<>> spaces_;
};

}  // namespace postern::memcached
