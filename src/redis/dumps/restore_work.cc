#include "redis/dumps/restore_work.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "redis/collections/scores.h"
#include "redis/wire/rdb.h"

namespace postern::redis {
namespace {

using Kind = rdb::DumpedValue::Kind;

constexpr size_t rows_of_step_max = 1'000;
/// A longer payload is read and stored by a thread of the slow lane.
constexpr size_t payload_in_turn_bytes_max = 4'096;

Type type_of(Kind kind) {
  switch (kind) {
    case Kind::string: return Type::string;
    case Kind::list: return Type::list;
    case Kind::set: return Type::set;
    case Kind::hash: return Type::hash;
    case Kind::sorted_set: return Type::zset;
    case Kind::stream: return Type::stream;
  }
  return Type::none;
}

/// The number of elements for the key's row.
size_t length_of(const rdb::DumpedValue &value) {
  switch (value.kind) {
    case Kind::string: return 0;
    case Kind::hash: return value.texts.size() / 2;
    case Kind::stream: return value.stream.entries.size();
    case Kind::list:
    case Kind::set:
    case Kind::sorted_set: break;
  }
  return value.texts.size();
}

}  // namespace

RestoreWork::RestoreWork(Call &call, OpenMap &open, const Wanted &wanted) : StreamWork(call, open), wanted_(wanted) {
  if (call.arguments[3].size() > payload_in_turn_bytes_max) set_large();
}

Task<> RestoreWork::run() {
  const Bytes payload = arguments_[3];
  const Entry before = co_await lock(row_key(arguments_[1]));
  if (before.live && !wanted_.replaces) {
    writer().error("BUSYKEY Target key name already exists.");
    co_return;
  }
  rdb::DumpedValue value;
  Bytes error = wanted_.error;
  if (error.empty() && !rdb::has_valid_footer(payload)) error = "ERR DUMP payload version or checksum are wrong";
  if (error.empty() && !rdb::restore(payload, limits::edit_reply_bytes_max, value)) error = "ERR Bad data format";
  if (!error.empty()) {
    writer().error(error);
    co_return;
  }
  if (before.live) co_await clear(before);
  const bool has_expired = wanted_.expires_ms != 0 && wanted_.expires_ms <= now_ms();
  if (!has_expired) co_await insert(before.key, value);
  writer().ok();
}

Task<> RestoreWork::insert(Bytes key, const rdb::DumpedValue &value) {
  const Type type = type_of(value.kind);
  add_entry(key, type, value);
  co_await go();
  if (type != Type::stream) co_return co_await insert_elements(key, value);
  const Entry entry{.key = std::string(key), .live = true, .type = type, .len = static_cast<int64_t>(length_of(value))};
  co_await insert_stream(entry, value.stream);
}

void RestoreWork::add_entry(Bytes key, Type type, const rdb::DumpedValue &value) {
  Value text = Value::null();
  if (type == Type::string) text = Value::of(value.texts.front());
  const StreamHead head{.last = value.stream.last, .deleted = value.stream.deleted, .added = value.stream.added};
  if (type == Type::stream) text = Value::of(keep_text(head.text()));
  add_insert(
      open().table,
      {Value::of(key), Value::of_integer(wanted_.expires_ms), Value::of_natural(fresh_version()),
       Value::of_integer(static_cast<int64_t>(type)), Value::of_natural(length_of(value)), Value::of_integer(0), text},
      OnDuplicate::fail);
}

Task<> RestoreWork::insert_elements(Bytes key, const rdb::DumpedValue &value) {
  const size_t count = length_of(value);
  for (size_t at = 0; at < count;) {
    for (const size_t end = std::min(count, at + rows_of_step_max); at < end; ++at) add_element(key, value, at);
    co_await go();
  }
}

void RestoreWork::add_element(Bytes key, const rdb::DumpedValue &value, size_t at) {
  OpenTable &table = *elements_of(type_of(value.kind));
  const std::vector<std::string> &texts = value.texts;
  switch (value.kind) {
    case Kind::list:
      add_insert(table, {Value::of(key), Value::of_integer(static_cast<int64_t>(at)), Value::of(texts[at])},
                 OnDuplicate::fail);
      break;
    case Kind::set: add_insert(table, {Value::of(key), Value::of(texts[at])}, OnDuplicate::fail); break;
    case Kind::hash:
      add_insert(table, {Value::of(key), Value::of(texts[2 * at]), Value::of(texts[2 * at + 1])}, OnDuplicate::fail);
      break;
    case Kind::sorted_set:
      add_insert(table, {Value::of(key), Value::of(texts[at]), Value::of(keep_text(stored_score(value.scores[at])))},
                 OnDuplicate::fail);
      break;
    case Kind::string:
    case Kind::stream: break;
  }
}

Task<> RestoreWork::insert_stream(const Entry &entry, const rdb::DumpedStream &stream) {
  for (size_t at = 0; at < stream.entries.size();) {
    for (const size_t end = std::min(stream.entries.size(), at + rows_of_step_max); at < end; ++at) {
      const rdb::DumpedEntry &one = stream.entries[at];
      const std::vector<Bytes> fields(one.fields.begin(), one.fields.end());
      add_insert(
          streams(),
          {Value::of(entry.key), number(one.id.ms), number(one.id.number), Value::of(keep_text(pack_fields(fields)))},
          OnDuplicate::fail);
    }
    co_await go();
  }
  for (const rdb::DumpedGroup &group : stream.groups) co_await insert_group(entry, stream, group);
}

Task<> RestoreWork::insert_group(const Entry &entry, const rdb::DumpedStream &stream, const rdb::DumpedGroup &group) {
  const StreamHead head{.last = stream.last, .deleted = stream.deleted, .added = stream.added};
  const StreamId first = stream.entries.empty() ? StreamId{} : stream.entries.front().id;
  add_group(entry, {.name = group.name,
                    .last = group.last,
                    .read = group.read ? *group.read : entries_until(entry, head, first, group.last)});
  for (size_t at = 0; at < group.consumers.size();) {
    for (const size_t end = std::min(group.consumers.size(), at + rows_of_step_max); at < end; ++at)
      add_insert(consumers(),
                 {Value::of(entry.key), Value::of(group.name), Value::of(group.consumers[at].name),
                  Value::of_integer(group.consumers[at].seen_ms)},
                 OnDuplicate::fail);
    co_await go();
  }
  for (size_t at = 0; at < group.pending.size();) {
    for (const size_t end = std::min(group.pending.size(), at + rows_of_step_max); at < end; ++at) {
      const rdb::DumpedPending &one = group.pending[at];
      add_pending(entry, group.name,
                  {.id = one.id,
                   .consumer = one.consumer,
                   .delivered_ms = one.delivered_ms,
                   .times = static_cast<int64_t>(one.times)});
    }
    co_await go();
  }
  co_await go();
}

}  // namespace postern::redis
