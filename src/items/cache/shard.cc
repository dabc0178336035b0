#include "items/cache/shard.h"

#include <bit>

namespace postern::items {
namespace {

/// The assumed bytes of an item when tables are sized.
constexpr size_t item_bytes_expected = 256;
/// The small queue's part of a shard: one in so many.
constexpr size_t small_queue_part = 10;
/// An item used so often in the small queue moves to the main queue.
constexpr uint8_t uses_to_stay = 2;
/// Recently used items that one command skips before it evicts regardless, because other workers wait for the shard.
constexpr size_t second_chances_max = 256;
/// Evicted at once after the cache was made smaller, on top of twice the bytes needed.
constexpr size_t freed_besides = size_t{16} << 10;
/// Tables are rebuilt if they are too small or too large by this factor.
constexpr size_t table_factor = 4;

size_t buckets_for(size_t shard_bytes) {
  return std::bit_floor(shard_bytes / item_bytes_expected * 2);
}

}  // namespace

bool Cache::Ghosts::prepare(size_t count) {
  count_ = std::bit_ceil(std::max<size_t>(count, places));
  ghosts_ = static_cast<Ghost *>(std::calloc(count_, sizeof(Ghost)));
  return ghosts_ != nullptr;
}

void Cache::Ghosts::add(uint64_t hash) {
  Ghost *const bucket = bucket_of(hash);
  // In a bucket the oldest is replaced.
  Ghost *const place = std::max_element(bucket, bucket + places, [this](const Ghost &one, const Ghost &other) {
    return clock_ - one.came < clock_ - other.came;
  });
  *place = {.print = print_of(hash), .came = clock_++};
}

bool Cache::Ghosts::take(uint64_t hash, size_t depth) {
  Ghost *const bucket = bucket_of(hash);
  const uint32_t print = print_of(hash);
  for (Ghost *ghost = bucket; ghost != bucket + places; ++ghost) {
    if (ghost->print != print || clock_ - ghost->came > depth) continue;
    ghost->print = 0;
    return true;
  }
  return false;
}

Cache::Shard::~Shard() {
  for (Queue *queue : {&small_, &main_})
    while (queue->oldest != nullptr) std::free(std::exchange(queue->oldest, queue->oldest->newer));
}

bool Cache::Tables::prepare(size_t shard_bytes) {
  buckets_count = buckets_for(shard_bytes);
  buckets = static_cast<Entry **>(std::calloc(buckets_count, sizeof(Entry *)));
  return buckets != nullptr && ghosts.prepare(std::bit_floor(shard_bytes / item_bytes_expected / 2));
}

bool Cache::Shard::prepare(size_t bytes) {
  if (!tables_.prepare(bytes)) return false;
  set_bytes(bytes);
  return true;
}

bool Cache::Shard::resize(size_t bytes) {
  Tables other;
  const size_t wanted = buckets_for(bytes);
  const size_t now = tables_.buckets_count;  // nobody else changes it
  const bool suits = wanted < now * table_factor && wanted * table_factor > now;
  if (!suits && !other.prepare(bytes)) return false;
  const std::lock_guard lock(mutex);
  if (!suits) use_tables(other);
  set_bytes(bytes);
  return true;
}

void Cache::Shard::set_bytes(size_t bytes) {
  bytes_max_ = bytes - tables_.bytes();
}

/// Forgets the hashes of items that have left the small queue.
void Cache::Shard::use_tables(Tables &fresh) {
  for (const Queue *queue : {&small_, &main_}) {
    for (Entry *entry = queue->oldest; entry != nullptr; entry = entry->newer) {
      Entry *&bucket = fresh.bucket_of(entry->hash);
      entry->chained = std::exchange(bucket, entry);
    }
  }
  tables_.swap(fresh);
}

Cache::Entry *Cache::Shard::find(const Space &space, Bytes key, uint64_t hash, int64_t now, Discarded &discarded) {
  for (Entry *entry = tables_.bucket_of(hash); entry != nullptr; entry = entry->chained) {
    if (entry->hash != hash || entry->space != &space || entry->key() != key) continue;
    if (!entry->is_over(now)) return entry;
    ++reclaimed_;
    remove(entry, discarded);
    return nullptr;
  }
  return nullptr;
}

void Cache::Shard::put(Entry *entry, Entry *there, int64_t now, Discarded &discarded) {
  if (there != nullptr) {
    entry->in_main = there->in_main;
    entry->uses = there->uses;
    entry->use();
    remove(there, discarded);
  } else {
    entry->in_main = tables_.ghosts.take(entry->hash, small_.items + main_.items);
  }
  make_room(entry->bytes(), now, discarded);
  Entry *&bucket = tables_.bucket_of(entry->hash);
  entry->chained = bucket;
  bucket = entry;
  queue_of(entry).add(entry);
  ++stored_;
}

void Cache::Shard::remove(Entry *entry, Discarded &discarded) {
  Entry **link = &tables_.bucket_of(entry->hash);
  while (*link != entry) link = &(*link)->chained;
  *link = entry->chained;
  queue_of(entry).remove(entry);
  discarded.add(entry);
}

void Cache::Shard::add_counts(Counts &counts) const {
  counts.items += small_.items + main_.items;
  counts.bytes += small_.bytes + main_.bytes + tables_.bytes();
  counts.stored += stored_;
  counts.evictions += evictions_;
  counts.reclaimed += reclaimed_;
}

void Cache::Shard::make_room(size_t bytes, int64_t now, Discarded &discarded) {
  size_t second_chances = 0;
  const size_t held_at_first = small_.bytes + main_.bytes;
  while (small_.bytes + main_.bytes + bytes > bytes_max_) {
    // After resize() there may be far too much, which is freed little by little.
    const size_t freed = held_at_first - small_.bytes - main_.bytes;
    if (freed >= 2 * bytes + freed_besides || small_.items + main_.items == 0) return;
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
    if (from_small) tables_.ghosts.add(oldest->hash);
    ++evictions_;
    remove(oldest, discarded);
  }
}

}  // namespace postern::items
