#include "items/cache/cache.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "base/limits.h"
#include "items/cache/shard.h"
#include "items/cache/keyed_hash.h"

namespace postern::items {
namespace {

/// Bytes for each shard: small enough that workers seldom contend, large enough for a large value.
constexpr size_t bytes_per_shard = size_t{8} << 20;
constexpr size_t shards_max = 64;
/// The maximum of one item, whatever the shards' size: more could not be answered.
constexpr size_t item_bytes_max = limits::row_bytes_max;

/// The number an item holds. Some programs pad numbers that get shorter with blanks.
bool read_number(Bytes text, uint64_t &number) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return parse_natural(text, number);
}

}  // namespace

/// One command on one key, and where that belongs.
struct Cache::CacheCommand {
  Space &space;
  const ItemCommand &asked;
  Shard &shard;
  uint64_t hash;
  uint64_t cas;
  int64_t now;
  Shard::Discarded &discarded;

  /// A new item of this key, its value still to be filled in; null if there is no memory.
  Entry *make(size_t value_bytes, uint32_t flags, int64_t item_expires_at) const {
    void *const memory = std::malloc(sizeof(Entry) + asked.key.size() + value_bytes);
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
                                           .key_bytes = static_cast<uint8_t>(asked.key.size()),
                                           .uses = 0,
                                           .in_main = false};
    asked.key.copy(entry->data(), asked.key.size());
    return entry;
  }

  Entry *find() const { return shard.find(space, asked.key, hash, now, discarded); }

  bool fits(size_t value_bytes) const {
    const size_t bytes = Entry::bytes_for(asked.key.size(), value_bytes);
    return bytes <= shard.bytes_max() && bytes <= item_bytes_max;
  }

  bool has_other_cas(const Entry &there) const { return asked.compares && there.cas != asked.cas; }

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

bool Cache::resize(size_t bytes_max) {
  bytes_max = std::max(bytes_max, bytes_least);
  for (size_t i = 0; i < shards_count_; ++i) {
    if (shards_[i].resize(bytes_max / shards_count_)) continue;
    while (i-- != 0) (void)shards_[i].resize(bytes_max_ / shards_count_);  // as much of that as possible
    return false;
  }
  bytes_max_ = bytes_max;
  return true;
}

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

ItemOutcome Cache::carry_out(Space &space, const ItemCommand &command, uint64_t cas, int64_t now, Reader &reader) {
  if (command.action == ItemAction::flush) {
    space.flush();
    return {};
  }
  if (command.key.size() > key_bytes_max) return {.failure = Failure::bad_key_value};
  const uint64_t hash = hash_of(space, command.key);
  // The high bits of the hash; the low ones choose the bucket.
  Shard &shard = shards_[(hash >> 56) & (shards_count_ - 1)];
  Shard::Discarded discarded;
  const CacheCommand here{.space = space,
                          .asked = command,
                          .shard = shard,
                          .hash = hash,
                          .cas = command.sets_cas ? command.new_cas : cas,
                          .now = now,
                          .discarded = discarded};
  switch (command.action) {
    case ItemAction::set:
    case ItemAction::add:
    case ItemAction::replace:
    case ItemAction::append:
    case ItemAction::prepend: return store(here);
    case ItemAction::increment:
    case ItemAction::decrement: return count(here);
    case ItemAction::get:
    case ItemAction::touch: {
      const std::lock_guard lock(shard.mutex);
      Entry *const there = here.find();
      if (there == nullptr) return {.result = Result::not_found};
      there->use();
      if (command.touches || command.action == ItemAction::touch) there->expires_at = command.expires_at;
      if (command.action == ItemAction::get) reader.item(there->item(now));
      return {.cas = there->cas};
    }
    case ItemAction::erase: {
      const std::lock_guard lock(shard.mutex);
      Entry *const there = here.find();
      if (there == nullptr) return {.result = Result::not_found};
      if (here.has_other_cas(*there)) return {.result = Result::exists};
      shard.remove(there, discarded);
      return {};
    }
    case ItemAction::flush: break;
  }
  return {};
}

/// The value is copied before the shard is locked, expecting that it will be stored.
ItemOutcome Cache::store(const CacheCommand &command) {
  const ItemCommand &asked = command.asked;
  if (!command.fits(asked.value.size())) return {.failure = Failure::request_too_large};
  Entry *const entry = command.make(asked.value.size(), asked.flags, asked.expires_at);
  if (entry == nullptr) return {.failure = Failure::out_of_memory};
  asked.value.copy(entry->value_data(), asked.value.size());

  const std::lock_guard lock(command.shard.mutex);
  Entry *const there = command.find();
  ItemOutcome outcome{.cas = command.cas};
  if (there != nullptr && asked.action == ItemAction::add) {
    there->use();
    outcome = {.result = Result::not_stored};
  } else if (there != nullptr && command.has_other_cas(*there)) {
    outcome = {.result = Result::exists};
  } else if (there != nullptr && asked.joins()) {
    outcome = join(command, *there);
  } else if (there == nullptr && !asked.makes_item()) {
    outcome = {.result = asked.action == ItemAction::set ? Result::not_found : Result::not_stored};
  } else {
    command.put(entry, there);
    return outcome;
  }
  command.discarded.add(entry);
  return outcome;
}

ItemOutcome Cache::join(const CacheCommand &command, Entry &there) {
  const ItemCommand &asked = command.asked;
  const size_t value_bytes = size_t{there.value_bytes} + asked.value.size();
  if (!command.fits(value_bytes)) return {.failure = Failure::request_too_large};
  Entry *const entry = command.make(value_bytes, there.flags, there.expires_at);
  if (entry == nullptr) return {.failure = Failure::out_of_memory};
  const bool at_front = asked.action == ItemAction::prepend;
  const Bytes first = at_front ? asked.value : there.value();
  const Bytes second = at_front ? there.value() : asked.value;
  first.copy(entry->value_data(), first.size());
  second.copy(entry->value_data() + first.size(), second.size());
  command.put(entry, &there);
  return {.cas = command.cas};
}

ItemOutcome Cache::count(const CacheCommand &command) {
  const ItemCommand &asked = command.asked;
  const std::lock_guard lock(command.shard.mutex);
  Entry *const there = command.find();
  uint64_t number = asked.initial;
  if (there == nullptr) {
    if (!asked.creates) return {.result = Result::not_found};
  } else {
    if (command.has_other_cas(*there)) return {.result = Result::exists};
    if (!read_number(there->value(), number)) return {.result = Result::not_a_number};
    number = asked.changed(number);
  }

  char digits[20];
  const Bytes text(digits, static_cast<size_t>(print_natural(digits, number) - digits));
  const int64_t over = there == nullptr || asked.touches ? asked.expires_at : there->expires_at;
  Entry *entry = there;
  if (there != nullptr && there->value_bytes == text.size()) {
    there->use();
    there->cas = command.cas;
    there->expires_at = over;
  } else {
    entry = command.make(text.size(), there != nullptr ? there->flags : asked.flags, over);
    if (entry == nullptr) return {.failure = Failure::out_of_memory};
    command.put(entry, there);
  }
  text.copy(entry->value_data(), text.size());
  return {.cas = command.cas, .number = number, .flags = entry->flags, .expires_at = entry->expires_at};
}

Cache::Counts Cache::counts() const {
  Counts counts;
  for (size_t i = 0; i < shards_count_; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].add_counts(counts);
  }
  return counts;
}

}  // namespace postern::items
