#include "memcached/cache.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/limits.h"
#include "memcached/expiry.h"

namespace postern::memcached {
namespace {

/// A shard for each so many bytes: many enough that workers seldom meet, few enough that a large value fits in one.
constexpr size_t bytes_per_shard = size_t{8} << 20;
constexpr size_t shards_max = 64;
/// The bytes an item is thought to have when tables are made for all there can be.
constexpr size_t item_bytes_expected = 256;
/// The small queue's part of a shard: one in so many.
constexpr size_t small_queue_part = 10;
constexpr uint8_t uses_max = 3;
/// An item that was used so often while it was in the small queue goes on to the main queue.
constexpr uint8_t uses_to_stay = 2;
/// Items that a command lets stay for their use before it takes the next one regardless: others wait for the shard.
constexpr size_t second_chances_max = 256;
/// Of one item, however large the shards are: more could not be answered.
constexpr size_t item_bytes_max = limits::row_bytes_max;

/// Bytes that malloc takes for `bytes`.
constexpr size_t allocated_bytes(size_t bytes) {
  return std::max<size_t>(32, (bytes + sizeof(size_t) + 15) & ~size_t{15});
}

/// SipHash-1-3 of `bytes`: without its key nobody can find inputs that collide.
uint64_t keyed_hash(uint64_t key_first, uint64_t key_second, Bytes bytes) {
  uint64_t a = key_first ^ 0x736f6d6570736575;
  uint64_t b = key_second ^ 0x646f72616e646f6d;
  uint64_t c = key_first ^ 0x6c7967656e657261;
  uint64_t d = key_second ^ 0x7465646279746573;
  const auto round = [&] {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  };
  const auto take = [&](uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  };
  uint64_t last = uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) take(load<uint64_t>(bytes.data()));
  for (size_t i = 0; i < bytes.size(); ++i) last |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  take(last);
  c ^= 0xff;
  round(), round(), round();
  return a ^ b ^ c ^ d;
}

/// The number an item holds. memcached pads numbers with blanks when they get shorter, so some clients' items do.
bool read_number(Bytes text, uint64_t &number) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return parse_natural(text, number);
}

uint64_t changed_number(const Request &request, uint64_t number) {
  if (request.action == Action::increment) return number + request.delta;
  return number - std::min(number, request.delta);
}

}  // namespace

/// Flushing is one addition: items of an earlier generation are not there any more.
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
    return allocated_bytes(sizeof(Entry) + key_bytes + value_bytes);
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

/// Remembers the hashes of items that left the small queue unused, as many as there are items if the table holds that
/// many.
class Cache::Ghosts {
 public:
  ~Ghosts() { std::free(ghosts_); }
  bool prepare(size_t count) {
    count_ = std::bit_ceil(std::max<size_t>(count, places));
    ghosts_ = static_cast<Ghost *>(std::calloc(count_, sizeof(Ghost)));
    return ghosts_ != nullptr;
  }
  size_t bytes() const { return count_ * sizeof(Ghost); }

  void add(uint64_t hash) {
    Ghost *const bucket = bucket_of(hash);
    // Of the same bucket the one that came first makes way.
    Ghost *const place = std::max_element(bucket, bucket + places, [this](const Ghost &one, const Ghost &other) {
      return clock_ - one.came < clock_ - other.came;
    });
    *place = {.print = print_of(hash), .came = clock_++};
  }
  /// Whether it is remembered among the last `depth`; then it is not any more.
  bool take(uint64_t hash, size_t depth) {
    Ghost *const bucket = bucket_of(hash);
    const uint32_t print = print_of(hash);
    for (Ghost *ghost = bucket; ghost != bucket + places; ++ghost) {
      if (ghost->print != print || clock_ - ghost->came > depth) continue;
      ghost->print = 0;
      return true;
    }
    return false;
  }

 private:
  static constexpr size_t places = 4;  // of one bucket
  struct Ghost {
    uint32_t print;  // 0: nobody
    uint32_t came;
  };

  static uint32_t print_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 24) | 1; }
  Ghost *bucket_of(uint64_t hash) { return ghosts_ + (hash & (count_ - 1) & ~(places - 1)); }

  Ghost *ghosts_ = nullptr;
  size_t count_ = 0;
  uint32_t clock_ = 0;
};

/// All but `mutex` is used while that is held.
class alignas(64) Cache::Shard {
 public:
  /// Items that are out of everything; freed when the shard is not held any more, which takes its time.
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

  ~Shard() {
    for (Queue *queue : {&small_, &main_})
      while (queue->oldest != nullptr) std::free(std::exchange(queue->oldest, queue->oldest->newer));
    std::free(buckets_);
  }

  bool prepare(size_t bytes) {
    buckets_count_ = std::bit_floor(bytes / item_bytes_expected * 2);
    buckets_ = static_cast<Entry **>(std::calloc(buckets_count_, sizeof(Entry *)));
    if (buckets_ == nullptr || !ghosts_.prepare(std::bit_floor(bytes / item_bytes_expected / 2))) return false;
    bytes_max_ = bytes - table_bytes();
    return true;
  }

  mutable std::mutex mutex;

  // Does not change.
  size_t bytes_max() const { return bytes_max_; }

  /// The item that is there and in force, or null.
  Entry *find(const Command &command, Discarded &discarded);

  /// Puts a new item in, in place of `there` if that is not null.
  void put(Entry *entry, Entry *there, int64_t now, Discarded &discarded) {
    if (there != nullptr) {
      entry->in_main = there->in_main;
      entry->uses = there->uses;
      entry->use();
      remove(there, discarded);
    } else {
      entry->in_main = ghosts_.take(entry->hash, small_.items + main_.items);
    }
    make_room(entry->bytes(), now, discarded);
    Entry *&bucket = bucket_of(entry->hash);
    entry->chained = bucket;
    bucket = entry;
    queue_of(entry).add(entry);
    ++stored_;
  }

  void remove(Entry *entry, Discarded &discarded) {
    Entry **link = &bucket_of(entry->hash);
    while (*link != entry) link = &(*link)->chained;
    *link = entry->chained;
    queue_of(entry).remove(entry);
    discarded.add(entry);
  }

  void add_counts(Counts &counts) const {
    counts.items += small_.items + main_.items;
    counts.bytes += small_.bytes + main_.bytes + table_bytes();
    counts.stored += stored_;
    counts.evictions += evictions_;
    counts.reclaimed += reclaimed_;
  }

 private:
  Entry *&bucket_of(uint64_t hash) { return buckets_[hash & (buckets_count_ - 1)]; }
  Queue &queue_of(const Entry *entry) { return entry->in_main ? main_ : small_; }
  size_t table_bytes() const { return buckets_count_ * sizeof(Entry *) + ghosts_.bytes(); }

  void make_room(size_t bytes, int64_t now, Discarded &discarded) {
    size_t second_chances = 0;
    while (small_.bytes + main_.bytes + bytes > bytes_max_) {
      const bool from_small = main_.items == 0 || (small_.items != 0 && small_.bytes > bytes_max_ / small_queue_part);
      Entry *const oldest = from_small ? small_.oldest : main_.oldest;
      if (oldest->is_over(now)) {
        ++reclaimed_;
        remove(oldest, discarded);
        continue;
      }
      if (oldest->uses >= (from_small ? uses_to_stay : 1) && second_chances < second_chances_max) {
        ++second_chances;
        queue_of(oldest).remove(oldest);
        oldest->uses = from_small ? 0 : oldest->uses - 1;
        oldest->in_main = true;
        main_.add(oldest);
        continue;
      }
      if (from_small) ghosts_.add(oldest->hash);
      ++evictions_;
      remove(oldest, discarded);
    }
  }

  Entry **buckets_ = nullptr;
  size_t buckets_count_ = 0;
  size_t bytes_max_ = 0;
  Queue small_;
  Queue main_;
  Ghosts ghosts_;
  uint64_t stored_ = 0;
  uint64_t evictions_ = 0;
  uint64_t reclaimed_ = 0;
};

/// One command on one key, and where that belongs.
struct Cache::Command {
  Space &space;
  const Request &request;
  Shard &shard;
  uint64_t hash;
  uint64_t cas;
  int64_t now;
  Shard::Discarded &discarded;

  /// A new item of this key, its value still to be filled in; null if there is no memory.
  Entry *make(size_t value_bytes, uint32_t flags, int64_t item_expires_at) const {
    void *const memory = std::malloc(sizeof(Entry) + request.key.size() + value_bytes);
    if (memory == nullptr) return nullptr;
    auto *const entry = new (memory) Entry{.chained = nullptr,
                                           .newer = nullptr,
                                           .older = nullptr,
                                           .space = &space,
                                           .generation = 0,
                                           .hash = hash,
                                           .cas = cas,
                                           .expires_at = item_expires_at,
                                           .flags = flags,
                                           .value_bytes = static_cast<uint32_t>(value_bytes),
                                           .key_bytes = static_cast<uint8_t>(request.key.size()),
                                           .uses = 0,
                                           .in_main = false};
    request.key.copy(entry->data(), request.key.size());
    return entry;
  }

  bool fits(size_t value_bytes) const {
    const size_t bytes = Entry::bytes_for(request.key.size(), value_bytes);
    return bytes <= shard.bytes_max() && bytes <= item_bytes_max;
  }

  bool has_other_cas(const Entry &there) const {
    return (request.cas != 0 || request.compares) && there.cas != request.cas;
  }

  void put(Entry *entry, Entry *there) const {
    entry->generation = space.generation();
    shard.put(entry, there, now, discarded);
  }
};

Cache::Entry *Cache::Shard::find(const Command &command, Discarded &discarded) {
  for (Entry *entry = bucket_of(command.hash); entry != nullptr; entry = entry->chained) {
    if (entry->hash != command.hash || entry->space != &command.space || entry->key() != command.request.key) continue;
    if (!entry->is_over(command.now)) return entry;
    ++reclaimed_;
    remove(entry, discarded);
    return nullptr;
  }
  return nullptr;
}

std::unique_ptr<Cache> Cache::make(size_t bytes_max) {
  std::unique_ptr<Cache> cache(new Cache);
  cache->bytes_max_ = std::max(bytes_max, bytes_least);
  cache->shards_count_ = std::bit_floor(std::clamp<size_t>(cache->bytes_max_ / bytes_per_shard, 1, shards_max));
  cache->shards_.reset(new (std::nothrow) Shard[cache->shards_count_]);
  if (cache->shards_ == nullptr) return nullptr;
  for (size_t i = 0; i < cache->shards_count_; ++i)
    if (!cache->shards_[i].prepare(cache->bytes_max_ / cache->shards_count_)) return nullptr;
  if (getrandom(cache->secret_.data(), sizeof cache->secret_, 0) != sizeof cache->secret_) return nullptr;
  return cache;
}

Cache::~Cache() = default;

Cache::Space &Cache::space(Bytes container) {
  const std::lock_guard lock(spaces_mutex_);
  const auto known = spaces_.find(container);
  if (known != spaces_.end()) return *known->second;
  auto space = std::make_unique<Space>(spaces_.size());
  return *spaces_.emplace(container, std::move(space)).first->second;
}

uint64_t Cache::hash_of(const Space &space, Bytes key) const {
  return keyed_hash(secret_[0] ^ space.number(), secret_[1], key);
}

Cache::Outcome Cache::carry_out(Space &space, const Request &request, uint64_t cas, int64_t now, Reader &reader) {
  if (request.action == Action::flush) {
    space.flush();
    return {};
  }
  if (request.key.size() > key_bytes_max) return {.failure = Failure::bad_key_value};
  const uint64_t hash = hash_of(space, request.key);
  // The other end of the hash than the one that chooses the bucket.
  Shard &shard = shards_[(hash >> 56) & (shards_count_ - 1)];
  Shard::Discarded discarded;
  const Command command{.space = space,
                        .request = request,
                        .shard = shard,
                        .hash = hash,
                        .cas = request.sets_cas ? request.new_cas : cas,
                        .now = now,
                        .discarded = discarded};
  switch (request.action) {
    case Action::set:
    case Action::add:
    case Action::replace:
    case Action::append:
    case Action::prepend: return store(command);
    case Action::increment:
    case Action::decrement: {
      const std::lock_guard lock(shard.mutex);
      return count(command, reader);
    }
    case Action::get:
    case Action::touch: {
      const std::lock_guard lock(shard.mutex);
      Entry *const there = shard.find(command, discarded);
      if (there == nullptr) return {.result = Result::not_found};
      there->use();
      if (request.touches || request.action == Action::touch) there->expires_at = expires_at(request.expiry, now);
      if (request.action == Action::get) reader.item(there->item(now));
      return {.cas = there->cas};
    }
    case Action::erase: {
      const std::lock_guard lock(shard.mutex);
      Entry *const there = shard.find(command, discarded);
      if (there == nullptr) return {.result = Result::not_found};
      if (command.has_other_cas(*there)) return {.result = Result::exists};
      shard.remove(there, discarded);
      return {};
    }
    case Action::flush:
    case Action::end:
    case Action::noop:
    case Action::version:
    case Action::statistics:
    case Action::verbosity:
    case Action::quit:
    case Action::login:
    case Action::mechanisms:
    case Action::refused: break;
  }
  return {.failure = Failure::not_implemented};
}

/// The value is copied before the shard is held, in the hope that it will be stored.
Cache::Outcome Cache::store(const Command &command) {
  const Request &request = command.request;
  if (!command.fits(request.value.size())) return {.failure = Failure::request_too_large};
  Entry *const entry = command.make(request.value.size(), request.flags, expires_at(request.expiry, command.now));
  if (entry == nullptr) return {.failure = Failure::out_of_memory};
  request.value.copy(entry->value_data(), request.value.size());

  const bool joins = request.action == Action::append || request.action == Action::prepend;
  const std::lock_guard lock(command.shard.mutex);
  Entry *const there = command.shard.find(command, command.discarded);
  Outcome outcome{.cas = command.cas};
  if (there != nullptr && request.action == Action::add) {
    there->use();
    outcome = {.result = Result::not_stored};
  } else if (there != nullptr && command.has_other_cas(*there)) {
    outcome = {.result = Result::exists};
  } else if (there != nullptr && joins) {
    outcome = join(command, *there);
  } else if (there == nullptr && (request.action == Action::replace || (joins && !request.creates))) {
    outcome = {.result = Result::not_stored};
  } else if (there == nullptr && request.action == Action::set && (request.cas != 0 || request.compares)) {
    outcome = {.result = Result::not_found};
  } else {
    command.put(entry, there);
    return outcome;
  }
  command.discarded.add(entry);
  return outcome;
}

Cache::Outcome Cache::join(const Command &command, Entry &there) {
  const size_t value_bytes = size_t{there.value_bytes} + command.request.value.size();
  if (!command.fits(value_bytes)) return {.failure = Failure::request_too_large};
  Entry *const entry = command.make(value_bytes, there.flags, there.expires_at);
  if (entry == nullptr) return {.failure = Failure::out_of_memory};
  const bool at_front = command.request.action == Action::prepend;
  const Bytes first = at_front ? command.request.value : there.value();
  const Bytes second = at_front ? there.value() : command.request.value;
  first.copy(entry->value_data(), first.size());
  second.copy(entry->value_data() + first.size(), second.size());
  command.put(entry, &there);
  return {.cas = command.cas};
}

Cache::Outcome Cache::count(const Command &command, Reader &reader) {
  const Request &request = command.request;
  Entry *const there = command.shard.find(command, command.discarded);
  uint64_t number = request.initial;
  if (there == nullptr) {
    if (!request.creates) return {.result = Result::not_found};
  } else {
    if (command.has_other_cas(*there)) return {.result = Result::exists};
    if (!read_number(there->value(), number)) return {.result = Result::not_a_number};
    number = changed_number(request, number);
  }

  char digits[20];
  const Bytes text(digits, static_cast<size_t>(print_natural(digits, number) - digits));
  const bool takes_expiry = there == nullptr || request.touches;
  const int64_t over = takes_expiry ? expires_at(request.expiry, command.now) : there->expires_at;
  Entry *entry = there;
  if (there != nullptr && there->value_bytes == text.size()) {
    there->use();
    there->cas = command.cas;
    there->expires_at = over;
  } else {
    entry = command.make(text.size(), there != nullptr ? there->flags : request.flags, over);
    if (entry == nullptr) return {.failure = Failure::out_of_memory};
    command.put(entry, there);
  }
  text.copy(entry->value_data(), text.size());
  reader.number(number, entry->item(command.now));
  return {.cas = command.cas};
}

Cache::Counts Cache::counts() const {
  Counts counts;
  for (size_t i = 0; i < shards_count_; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].add_counts(counts);
  }
  return counts;
}

}  // namespace postern::memcached
