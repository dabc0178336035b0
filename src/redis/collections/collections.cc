#include "redis/collections/collections.h"

namespace postern::redis {

Task<Entry> CollectionWork::look(RowKey key) {
  const StepReply &found = add_read(open().table, {.key = values({Value::of(key.text)}), .limit = 1});
  co_await go();
  if (found.rows.empty()) co_return Entry{.key = std::string(key.text)};
  Entry entry = entry_of(key, state_of_cells(*open().map, found.rows.front()));
  if (!entry.live) co_return Entry{.key = std::string(key.text)};
  co_return entry;
}

Task<> CollectionWork::lock_both(Bytes one, Entry &first, Bytes other, Entry &second) {
  if (other < one) second = co_await lock(row_key(other));
  first = co_await lock(row_key(one));
  if (one < other) second = co_await lock(row_key(other));
  if (one == other) second = first;
}

Task<> RemoveMembers::run() {
  const RowKey key = row_key(arguments_[1]);
  Entry entry;
  std::vector<const StepReply *> replies;
  int64_t removed = 0;
  const auto erase = [&] {
    replies.clear();
    for (const Bytes member : arguments_.subspan(2)) {
      if (member.size() > member_bytes_max) continue;
      const Find find{.key = values({Value::of(key.text), Value::of(member)}), .limit = 1};
      replies.push_back(&add_erase(*elements_of(type_), find));
    }
  };
  const auto count = [&] {
    removed = changed_by(replies);
    entry.len -= removed;
    return removed != 0;
  };
  const bool done = co_await change_elements(key, type_, entry, Doing(erase), Doing(count));
  if (done) writer().integer(removed);
}

Find find_members(Call &call, const Place &place, std::span<const Bytes> members) {
  const std::span<Value> list = call.arena().array<Value>(members.size());
  size_t count = 0;
  // No row has a longer one, and an IN list that contains it would fail.
  for (const Bytes member : members)
    if (member.size() <= member_bytes_max) list[count++] = Value::of(member);
  const Value first = count == 0 ? Value::of(members[0]) : list[0];
  return {.in_part = 1, .key = element_key(call, place, first), .in_list = list.first(count), .limit = all_rows};
}

Next tell_length_of(Call &call, Type type) {
  return read_key(call, call.arguments[1], [type](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.integer(0);
    if (state->type != type) return writer.error(wrong_type);
    writer.integer(static_cast<int64_t>(state->len));
  });
}

bool may_write_both(Call &call, Bytes one, Bytes other, OpenMap *&open) {
  open = open_for_work(call, one);
  if (open == nullptr) return false;
  OpenMap *const second = open_for_work(call, other);
  if (second == nullptr) return false;
  if (second == open) return true;
  refuse(call, "ERR source and destination are in different tables");
  return false;
}

}  // namespace postern::redis
