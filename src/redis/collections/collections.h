// collections.h: the base of commands on lists, sets and sorted sets. Their keys are of the generic keyspace.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "redis/call_tables.h"
#include "redis/work/element_reads.h"
#include "redis/work/work.h"

namespace postern::redis {

inline constexpr Bytes not_positive = "ERR value is out of range, must be positive";
inline constexpr Bytes out_of_range = "ERR value is out of range";

/// Bytes of a member of a set: the size of its column.
inline constexpr size_t member_bytes_max = 1'024;

/// The columns of `sets`, `zsets` and `lists`.
namespace column {
inline constexpr uint32_t member = 1;
inline constexpr uint32_t score = 2;
inline constexpr uint32_t position = 1;
inline constexpr uint32_t value = 2;
}  // namespace column

/// One key of a command with several.
struct Source {
  OpenMap *open = nullptr;  ///< nullptr: no mapping serves the key
  Bytes key{};              ///< in the clients' form
};

class CollectionWork : public Work {
 public:
  CollectionWork(Call &call, OpenMap &open) : Work(call, open), arguments_(call.arguments), in_unit_(call.in_unit) {}

 protected:
  /// A find in the transaction's view. In EXEC it reads and locks the newest rows.
  StepReply &add_read(OpenTable &table, const Find &find) {
    return in_unit_ ? add_lock(table, find) : add_find(table, find);
  }
  /// Reads the key's row in that way.
  Task<Entry> look(RowKey key);

  /// Whether the key exists with another type; answers the error then.
  bool is_wrong(const Entry &entry, Type type) {
    if (!entry.live || entry.type == type) return false;
    writer().error(wrong_type);
    return true;
  }
  /// Locks both keys, in the clients' form, in a global order, so that two commands on the same keys do not deadlock.
  Task<> lock_both(Bytes one, Entry &first, Bytes other, Entry &second);
  std::span<const Value> key_of(const Entry &entry) { return values({Value::of(entry.key)}); }
  std::span<const Value> element_of(const Entry &entry, Bytes member) {
    return values({Value::of(entry.key), Value::of(member)});
  }

  const std::span<const Bytes> arguments_;
  const bool in_unit_;
};

/// Begins a command that writes the key.
template <class TheWork, class... Arguments>
Next begin_on(Call &call, Bytes key, Arguments &&...arguments) {
  OpenMap *const open = open_for_work(call, key);
  if (open == nullptr) return Next::go_on;
  return begin_work(call, tables_of(call).keep<TheWork>(call, *open, std::forward<Arguments>(arguments)...));
}

/// Begins a command that reads the key in several steps with one view. `absent(Writer &)` writes the answer for a
/// missing key.
template <class TheWork, class Absent, class... Arguments>
Next begin_reading(Call &call, const Place &place, Absent absent, Arguments &&...arguments) {
  if (place.state != Place::State::there || !place.generic())
    return read_place(call, place, [absent](Writer &writer, const KeyState *state, Row) {
      state == nullptr ? absent(writer) : writer.error(wrong_type);
    });
  open_elements(call, *place.open);
  return begin_reading_work(call,
                            tables_of(call).keep<TheWork>(call, *place.open, std::forward<Arguments>(arguments)...));
}
template <class TheWork, class Absent, class... Arguments>
Next begin_reading(Call &call, Bytes key, Absent absent, Arguments &&...arguments) {
  return begin_reading<TheWork>(call, place_of(call, key), absent, std::forward<Arguments>(arguments)...);
}

/// Answers a command that reads one key's elements by one find, from the key of `place` on; see element_reads.h.
template <class Tell>
Next read_collection(Call &call, const Place &place, Elements which, Type type, const Find &find, const Tell &tell) {
  if (place.state == Place::State::there && place.generic()) return read_elements(call, place, which, type, find, tell);
  return read_place(call, place, [tell](Writer &writer, const KeyState *state, Row) {
    state == nullptr ? tell.absent(writer) : writer.error(wrong_type);
  });
}

/// Finds the members of a key, in the order of the list.
Find find_members(Call &call, const Place &place, std::span<const Bytes> members);

/// Reads the member that the command names after the key.
template <class Tell>
Next read_member(Call &call, Elements which, Type type, const Tell &tell) {
  const Place place = place_of(call, call.arguments[1]);
  const Find find{.key = element_key(call, place, Value::of(call.arguments[2])), .limit = 1};
  return read_collection(call, place, which, type, find, tell);
}

/// Reads the members that it names there; `Each` answers one, as in NamedTell.
template <class Each>
Next read_members(Call &call, const Place &place, Elements which, Type type) {
  const std::span<const Bytes> wanted = call.arguments.subspan(2);
  return read_collection(call, place, which, type, find_members(call, place, wanted), NamedTell<Each>{wanted});
}

/// Answers the number of a key's elements.
Next tell_length_of(Call &call, Type type);

/// Both keys of a command that writes them. Returns false after answering an error.
bool may_write_both(Call &call, Bytes one, Bytes other, OpenMap *&open);

/// Removes members from a set or a sorted set, and answers how many existed.
class RemoveMembers final : public CollectionWork {
 public:
  RemoveMembers(Call &call, OpenMap &open, Type type) : CollectionWork(call, open), type_(type) { set_ends_at_once(); }

 private:
  Task<> run() override;

  const Type type_;
};

}  // namespace postern::redis
