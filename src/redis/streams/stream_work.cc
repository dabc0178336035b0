#include "redis/streams/stream_work.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace postern::redis {
namespace {

// The columns of the tables of streams, after the key and the group.
enum GroupColumn : uint32_t { group_name = 1, group_last = 2, group_read = 4 };
enum ConsumerColumn : uint32_t { consumer_name = 2, consumer_seen = 3 };
enum PendingColumn : uint32_t { pending_ms = 2, pending_consumer = 4, pending_delivered = 5, pending_times = 6 };

/// Entries in a node of Redis's: `~` trims whole nodes.
constexpr uint64_t entries_at_once = 100;

uint64_t natural_in(const Cell &cell) {
  uint64_t number = 0;
  return parse_natural(cell.text, number) ? number : 0;
}

StreamId id_in(const Cells &row, uint32_t ms) {
  return {natural_in(row[ms]), natural_in(row[ms + 1])};
}

Bytes take_word(Bytes &text) {
  const Bytes word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

void put_length(std::string &to, size_t length) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(length >> shift & 0xff));
}

}  // namespace

StreamHead StreamHead::of(Bytes text) {
  StreamHead head;
  if (!parse_stream_id(take_word(text), 0, head.last)) return {};
  if (!parse_stream_id(take_word(text), 0, head.deleted)) return {};
  return parse_natural(take_word(text), head.added) ? head : StreamHead{};
}

std::string StreamHead::text() const {
  constexpr size_t added_bytes_max = 20;
  std::array<char, 2 * stream_id_bytes_max + added_bytes_max + 2> bytes;
  char *to = print_stream_id(bytes.data(), last);
  *to++ = ' ';
  to = print_stream_id(to, deleted);
  *to++ = ' ';
  to = std::to_chars(to, bytes.data() + bytes.size(), added).ptr;
  return {bytes.data(), to};
}

std::string pack_fields(std::span<const Bytes> fields) {
  std::string packed;
  size_t bytes = 0;
  for (const Bytes field : fields) bytes += sizeof(uint32_t) + field.size();
  packed.reserve(bytes);
  for (const Bytes field : fields) {
    put_length(packed, field.size());
    packed.append(field);
  }
  return packed;
}

/// SQL may have written anything: malformed parts are left out.
std::vector<Bytes> unpack_fields(Bytes packed) {
  std::vector<Bytes> fields;
  while (packed.size() >= sizeof(uint32_t)) {
    size_t length = 0;
    for (size_t i = 0; i < sizeof(uint32_t); ++i) length = length << 8 | static_cast<unsigned char>(packed[i]);
    packed.remove_prefix(sizeof(uint32_t));
    if (length > packed.size()) break;
    fields.push_back(packed.substr(0, length));
    packed.remove_prefix(length);
  }
  return fields;
}

void write_entry(Writer &writer, const StreamEntry &entry) {
  const std::vector<Bytes> fields = unpack_fields(entry.fields);
  writer.array(2);
  writer.bulk(entry.id.text());
  writer.array(fields.size());
  for (const Bytes field : fields) writer.bulk(field);
}

Task<> StreamWork::store(const Entry &entry, const StreamHead &head) {
  const std::string text = head.text();
  EditBy change([&](Row row, Draft &next) {
    next.set(entry::len, Value::of_integer(entry.len));
    next.set(entry::value, Value::of(text));
    next.set(entry::version, Value::of_natural(static_cast<uint64_t>(integer_in(row[entry::version])) + 1));
    return Decision::write;
  });
  add_edit(open().table, {.key = key_of(entry), .limit = 1}, change);
  co_await go();
}

StreamEntry StreamWork::entry_in(const Cells &row) const {
  return {.id = id_in(row, entry_ms), .fields = row[entry_fields].text};
}

Task<std::vector<StreamEntry>> StreamWork::range(const Entry &entry, StreamId from, StreamId to, uint64_t count,
                                                 Reading reading, bool backwards) {
  std::vector<StreamEntry> found;
  if (from > to || count == 0) co_return found;
  const std::span<const Value> low = from.is_zero() ? key_of(entry) : at(entry, from);
  const std::span<const Value> high = to == last_stream_id ? key_of(entry) : at(entry, to);
  const StepReply &reply = add_reading(streams(),
                                       {.comparison = backwards ? Comparison::at_most : Comparison::at_least,
                                        .key = backwards ? high : low,
                                        .limit = count,
                                        .until = backwards ? low : high},
                                       reading);
  co_await go();
  found.reserve(reply.rows.size());
  for (const Cells &row : reply.rows) found.push_back(entry_in(row));
  co_return found;
}

Task<std::optional<StreamEntry>> StreamWork::edge(const Entry &entry, bool is_last, Reading reading) {
  std::vector<StreamEntry> found = co_await range(entry, {}, last_stream_id, 1, reading, is_last);
  if (found.empty()) co_return std::nullopt;
  co_return std::move(found.front());
}

Task<std::optional<StreamEntry>> StreamWork::find(const Entry &entry, StreamId id, Reading reading) {
  const StepReply &reply = add_reading(streams(), {.key = at(entry, id), .limit = 1}, reading);
  co_await go();
  if (reply.rows.empty()) co_return std::nullopt;
  co_return entry_in(reply.rows.front());
}

Task<int64_t> StreamWork::trim(Entry &entry, const StreamTrim &trim) {
  const auto length = static_cast<uint64_t>(std::max<int64_t>(entry.len, 0));
  uint64_t surplus = all;
  Find find{.key = key_of(entry), .limit = all};
  switch (trim.by) {
    case StreamTrim::By::nothing: co_return 0;
    case StreamTrim::By::length: surplus = length > trim.length ? length - trim.length : 0; break;
    case StreamTrim::By::id:
      find = {.comparison = Comparison::at_least, .key = key_of(entry), .limit = all, .until = at(entry, trim.from)};
      find.until_included = false;
      break;
  }
  if (trim.about) {
    if (trim.by == StreamTrim::By::id) {
      StepReply &old = add_lock(streams(), find);
      old.hears = [](Row, uint64_t) { return Flow::more; };
      co_await go();
      surplus = old.met;
      find.key = key_of(entry);
      find.until = at(entry, trim.from);
    }
    if (trim.limit != 0) surplus = std::min(surplus, trim.limit);
    surplus -= surplus % entries_at_once;
  }
  if (surplus == 0) co_return 0;
  find.limit = surplus;
  const StepReply &gone = add_erase(streams(), find);
  co_await go();
  const auto count = static_cast<int64_t>(gone.changed);
  entry.len = std::max<int64_t>(entry.len - count, 0);
  co_return count;
}

Task<std::optional<StreamGroup>> StreamWork::find_group(const Entry &entry, Bytes name, Reading reading) {
  if (!entry.live || name.size() > group_name_bytes_max) co_return std::nullopt;
  const StepReply &reply = add_reading(groups(), {.key = in_group(entry, name), .limit = 1}, reading);
  co_await go();
  if (reply.rows.empty()) co_return std::nullopt;
  const Cells &row = reply.rows.front();
  co_return StreamGroup{.name = std::string(name), .last = id_in(row, group_last), .read = row[group_read].integer()};
}

Task<std::vector<StreamGroup>> StreamWork::all_groups(const Entry &entry) {
  const StepReply &reply = add_read(groups(), {.key = key_of(entry), .limit = all});
  co_await go();
  std::vector<StreamGroup> found;
  for (const Cells &row : reply.rows)
    found.push_back({.name = row[group_name].text, .last = id_in(row, group_last), .read = row[group_read].integer()});
  co_return found;
}

Task<std::optional<StreamConsumer>> StreamWork::find_consumer(const Entry &entry, Bytes group, Bytes name,
                                                              Reading reading) {
  if (name.size() > group_name_bytes_max) co_return std::nullopt;
  const StepReply &reply = add_reading(
      consumers(), {.key = values({Value::of(entry.key), Value::of(group), Value::of(name)}), .limit = 1}, reading);
  co_await go();
  if (reply.rows.empty()) co_return std::nullopt;
  co_return StreamConsumer{.name = std::string(name), .seen_ms = reply.rows.front()[consumer_seen].integer()};
}

Task<std::vector<StreamConsumer>> StreamWork::all_consumers(const Entry &entry, Bytes group, Reading reading) {
  const StepReply &reply = add_reading(consumers(), {.key = in_group(entry, group), .limit = all}, reading);
  co_await go();
  std::vector<StreamConsumer> found;
  for (const Cells &row : reply.rows)
    found.push_back({.name = row[consumer_name].text, .seen_ms = row[consumer_seen].integer()});
  co_return found;
}

Pending StreamWork::pending_in(const Cells &row) {
  return {.id = id_in(row, pending_ms),
          .consumer = row[pending_consumer].text,
          .delivered_ms = row[pending_delivered].integer(),
          .times = row[pending_times].integer()};
}

Task<std::optional<Pending>> StreamWork::find_pending(const Entry &entry, Bytes group, StreamId id, Reading reading) {
  const StepReply &reply = add_reading(pending(), {.key = pending_key(entry, group, id), .limit = 1}, reading);
  co_await go();
  if (reply.rows.empty()) co_return std::nullopt;
  co_return pending_in(reply.rows.front());
}

void StreamWork::add_group(const Entry &entry, const StreamGroup &group) {
  add_insert(groups(),
             {Value::of(entry.key), Value::of(keep_text(group.name)), number(group.last.ms), number(group.last.number),
              Value::of_integer(group.read)},
             OnDuplicate::update);
}

void StreamWork::add_consumer(const Entry &entry, Bytes group, Bytes name) {
  add_insert(consumers(), {Value::of(entry.key), Value::of(group), Value::of(name), Value::of_integer(now_ms())},
             OnDuplicate::update);
}

void StreamWork::add_pending(const Entry &entry, Bytes group, const Pending &one) {
  add_insert(pending(),
             {Value::of(entry.key), Value::of(group), number(one.id.ms), number(one.id.number),
              Value::of(keep_text(one.consumer)), Value::of_integer(one.delivered_ms), Value::of_integer(one.times)},
             OnDuplicate::update);
}

StepReply &StreamWork::erase_pending(const Entry &entry, Bytes group, StreamId id) {
  return add_erase(pending(), {.key = pending_key(entry, group, id), .limit = 1});
}

int64_t StreamWork::entries_until(const Entry &entry, const StreamHead &head, StreamId first, StreamId id) {
  if (head.added == 0) return 0;
  const auto added = static_cast<int64_t>(head.added);
  if (entry.len == 0 && id <= head.last) return added;
  if (id == head.last) return added;
  if (id > head.last) return unknown_reads;
  if (head.deleted.is_zero() || head.deleted < first) {
    if (id < first) return added - entry.len;
    if (id == first) return added - entry.len + 1;
  }
  return unknown_reads;
}

}  // namespace postern::redis
