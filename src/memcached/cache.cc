#include "memcached/cache.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "base/limits.h"
#include "memcached/cache_shard.h"
#include "memcached/expiry.h"
#include "items/keyed_hash.h"

namespace postern::memcached {
namespace {

/// A shard for each so many bytes: many enough that workers seldom meet, few enough that a large value fits in one.
constexpr size_t bytes_per_shard = size_t{8} << 20;
constexpr size_t shards_max = 64;
/// Of one item, however large the shards are: more could not be answered.
constexpr size_t item_bytes_max = limits::row_bytes_max;

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

  Entry *find() const { return shard.find(space, request.key, hash, now, discarded); }

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
  return items::keyed_hash(secret_[0] ^ space.number(), secret_[1], key);
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
      Entry *const there = command.find();
      if (there == nullptr) return {.result = Result::not_found};
      there->use();
      if (request.touches || request.action == Action::touch) there->expires_at = expires_at(request.expiry, now);
      if (request.action == Action::get) reader.item(there->item(now));
      return {.cas = there->cas};
    }
    case Action::erase: {
      const std::lock_guard lock(shard.mutex);
      Entry *const there = command.find();
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
  Entry *const there = command.find();
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
  Entry *const there = command.find();
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
