// stream_work.h: StreamWork, the base of the commands on streams.
//
// Entries are rows of `streams` in the order of their ids. The key's row has their number in `len`, and the StreamHead
// in `v`. Groups, consumers and pending entries are rows of tables of their own. A command that writes, or reads for a
// group, locks the key's row first; XACK does not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/collections/collections.h"
#include "redis/wire/stream_id.h"

namespace postern::redis {

inline constexpr Bytes bad_stream_id = "ERR Invalid stream ID specified as stream command argument";

/// Bytes of the name of a group or consumer: the size of its column.
inline constexpr size_t group_name_bytes_max = 512;

/// Columns of `streams`, after the key.
inline constexpr uint32_t entry_ms = 1;
inline constexpr uint32_t entry_fields = 3;

/// entries.v of a stream: `LAST DELETED ADDED`.
struct StreamHead {
  StreamId last{};     ///< the last id that was given
  StreamId deleted{};  ///< the highest id deleted by XDEL
  uint64_t added = 0;  ///< entries ever added

  static StreamHead of(Bytes text);
  std::string text() const;
};

/// The stored form of an entry's fields and values: for each its length, in four bytes, big endian, and its bytes.
std::string pack_fields(std::span<const Bytes> fields);
std::vector<Bytes> unpack_fields(Bytes packed);

struct StreamEntry {
  StreamId id{};
  std::string fields{};  ///< packed
};
void write_entry(Writer &writer, const StreamEntry &entry);

/// An unknown number of entries read.
inline constexpr int64_t unknown_reads = -1;

struct StreamGroup {
  std::string name{};
  StreamId last{};  ///< the last one that it has delivered
  int64_t read = unknown_reads;
};

/// An entry that was delivered and not acknowledged.
struct Pending {
  StreamId id{};
  std::string consumer{};
  int64_t delivered_ms = 0;
  int64_t times = 0;
};

struct StreamConsumer {
  std::string name{};
  int64_t seen_ms = 0;
};

/// The bound of a stream: MAXLEN keeps so many newest entries, MINID those from an id on.
struct StreamTrim {
  enum class By : uint8_t { nothing, length, id } by = By::nothing;
  uint64_t length = 0;
  StreamId from{};
  bool about = false;  ///< only if many can be deleted at once
  uint64_t limit = 0;  ///< entries that may be deleted; 0: any number
};

/// Pending entries that one reply may have: it is made in memory.
inline constexpr size_t pending_told_max = 100'000;
inline constexpr Bytes too_many_pending =
    "ERR more than 100000 pending entries are too many for one reply; ask for fewer with COUNT";

class StreamWork : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 protected:
  OpenTable &streams() { return elements(Elements::streams); }
  OpenTable &groups() { return elements(Elements::stream_groups); }
  OpenTable &consumers() { return elements(Elements::stream_consumers); }
  OpenTable &pending() { return elements(Elements::stream_pending); }

  bool is_wrong_stream(const Entry &entry) { return is_wrong(entry, Type::stream); }
  /// Stores a stream that was locked or made; an empty one is kept.
  Task<> store(const Entry &entry, const StreamHead &head);

  /// Locks rows that other clients may change.
  enum class Reading : uint8_t { in_view, locked };
  StreamEntry entry_in(const Cells &row) const;
  /// Entries from `from` to `to`, or backwards.
  Task<std::vector<StreamEntry>> range(const Entry &entry, StreamId from, StreamId to, uint64_t count, Reading reading,
                                       bool backwards = false);
  /// The first entry, or the last one.
  Task<std::optional<StreamEntry>> edge(const Entry &entry, bool is_last, Reading reading);
  Task<std::optional<StreamEntry>> find(const Entry &entry, StreamId id, Reading reading);
  /// Deletes surplus entries, and returns their number. The caller stores `entry`.
  Task<int64_t> trim(Entry &entry, const StreamTrim &trim);

  Task<std::optional<StreamGroup>> find_group(const Entry &entry, Bytes name, Reading reading);
  Task<std::vector<StreamGroup>> all_groups(const Entry &entry);
  Task<std::optional<StreamConsumer>> find_consumer(const Entry &entry, Bytes group, Bytes name, Reading reading);
  Task<std::vector<StreamConsumer>> all_consumers(const Entry &entry, Bytes group, Reading reading);
  /// Reads from an id on: `keeps(Pending, std::vector<Pending> &found)` adds wanted ones and returns whether to
  /// continue.
  template <class Keeps>
  Task<std::vector<Pending>> find_pending(const Entry &entry, Bytes group, StreamId from, StreamId to, Reading reading,
                                          Keeps keeps);
  Task<std::optional<Pending>> find_pending(const Entry &entry, Bytes group, StreamId id, Reading reading);

  // Ops of the next step.

  void add_group(const Entry &entry, const StreamGroup &group);
  void add_consumer(const Entry &entry, Bytes group, Bytes name);
  void add_pending(const Entry &entry, Bytes group, const Pending &one);
  StepReply &erase_pending(const Entry &entry, Bytes group, StreamId id);

  static Value number(uint64_t natural) { return Value::of_natural(natural); }
  /// Values of a key are texts.
  Value number_in_key(uint64_t natural) { return Value::of(keep_text(std::to_string(natural))); }
  std::span<const Value> at(const Entry &entry, StreamId id) {
    return values({Value::of(entry.key), number_in_key(id.ms), number_in_key(id.number)});
  }
  std::span<const Value> in_group(const Entry &entry, Bytes group) {
    return values({Value::of(entry.key), Value::of(group)});
  }
  StepReply &add_reading(OpenTable &table, const Find &find, Reading reading) {
    return reading == Reading::locked ? add_lock(table, find) : add_read(table, find);
  }
  std::span<const Value> pending_key(const Entry &entry, Bytes group, StreamId id) {
    return values({Value::of(entry.key), Value::of(group), number_in_key(id.ms), number_in_key(id.number)});
  }
  static Pending pending_in(const Cells &row);

  /// How many entries there are, or were, up to an id; unknown_reads: unknown.
  static int64_t entries_until(const Entry &entry, const StreamHead &head, StreamId first, StreamId id);
  /// Whether an entry after `from`, and after the first one there is, was deleted.
  static bool has_gaps(const Entry &entry, const StreamHead &head, StreamId first, StreamId from) {
    return entry.len != 0 && !head.deleted.is_zero() && first <= head.deleted && from <= head.deleted;
  }
};

template <class Keeps>
Task<std::vector<Pending>> StreamWork::find_pending(const Entry &entry, Bytes group, StreamId from, StreamId to,
                                                    Reading reading, Keeps keeps) {
  constexpr uint64_t rows_at_a_time = 1'000;
  std::vector<Pending> found;
  for (bool more = from <= to; more;) {
    StepReply &reply =
        add_reading(pending(),
                    {.comparison = Comparison::at_least,
                     .key = pending_key(entry, group, from),
                     .limit = rows_at_a_time,
                     .until = to == last_stream_id ? in_group(entry, group) : pending_key(entry, group, to)},
                    reading);
    co_await go();
    const std::vector<Cells> rows = std::move(reply.rows);
    more = rows.size() == rows_at_a_time;
    for (const Cells &row : rows) {
      Pending one = pending_in(row);
      from = one.id;
      if (keeps(std::move(one), found)) continue;
      more = false;
      break;
    }
    more = more && step_forward(from);
  }
  co_return found;
}

}  // namespace postern::redis
