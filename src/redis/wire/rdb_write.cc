// rdb_write.cc: dump().
#include <bit>
#include <iterator>
#include <map>

#include "redis/wire/numbers.h"
#include "redis/wire/rdb.h"
#include "redis/wire/rdb_bytes.h"
#include "redis/wire/rdb_packed.h"
#include "redis/wire/rdb_types.h"
#include "redis/wire/rdb_value.h"

namespace postern::redis::rdb {
namespace {

/// Redis's maximum of entries in a node of a stream.
constexpr size_t entries_of_node_max = 100;
constexpr size_t bytes_of_node_max = 4'096;

/// Writes a short number as an integer, as Redis does.
void put_text(std::string &to, Bytes text) {
  constexpr size_t number_text_bytes_max = 11;
  constexpr uint8_t marks[] = {0xC0, 0xC1, 0xC2};
  int64_t number = 0;
  if (text.size() > number_text_bytes_max || !parse_integer(text, number)) return put_string(to, text);
  for (size_t i = 0; i < std::size(marks); ++i) {
    const int bits = 8 << i;
    if (number < -(int64_t{1} << (bits - 1)) || number >= int64_t{1} << (bits - 1)) continue;
    to += static_cast<char>(marks[i]);
    return put_little_endian(to, static_cast<uint64_t>(number), size_t{1} << i);
  }
  put_string(to, text);
}

void put_id(std::string &to, StreamId id) {
  put_length(to, id.ms);
  put_length(to, id.number);
}

std::string raw_id(StreamId id) {
  std::string raw;
  put_big_endian(raw, id.ms, 8);
  put_big_endian(raw, id.number, 8);
  return raw;
}

bool has_fields_of(const DumpedEntry &one, const DumpedEntry &other) {
  if (one.fields.size() != other.fields.size()) return false;
  for (size_t i = 0; i < one.fields.size(); i += 2)
    if (one.fields[i] != other.fields[i]) return false;
  return true;
}

void add_entry(Listpack &pack, const DumpedEntry &first, const DumpedEntry &entry) {
  const bool same = has_fields_of(first, entry);
  const uint64_t before = pack.count();
  pack.add(int64_t{same ? entry_same_fields : 0});
  pack.add(static_cast<int64_t>(entry.id.ms - first.id.ms));
  pack.add(static_cast<int64_t>(entry.id.number - first.id.number));
  if (!same) pack.add(static_cast<int64_t>(entry.fields.size() / 2));
  for (size_t i = same ? 1 : 0; i < entry.fields.size(); i += same ? 2 : 1) pack.add(Bytes(entry.fields[i]));
  pack.add(static_cast<int64_t>(pack.count() - before));
}

/// The entries from `at` on that go into one node. Returns the first that does not.
size_t put_node(std::string &to, const std::vector<DumpedEntry> &entries, size_t at) {
  const DumpedEntry &first = entries[at];
  size_t bytes = 0;
  size_t end = at;
  for (; end < entries.size() && end - at < entries_of_node_max && bytes < bytes_of_node_max; ++end)
    for (const std::string &text : entries[end].fields) bytes += text.size();
  Listpack pack;
  pack.add(static_cast<int64_t>(end - at));
  pack.add(int64_t{0});  // deleted ones
  pack.add(static_cast<int64_t>(first.fields.size() / 2));
  for (size_t i = 0; i < first.fields.size(); i += 2) pack.add(Bytes(first.fields[i]));
  pack.add(int64_t{0});
  for (; at < end; ++at) add_entry(pack, first, entries[at]);
  put_string(to, raw_id(first.id));
  put_string(to, pack.end());
  return end;
}

void put_group(std::string &to, const DumpedGroup &group) {
  put_string(to, group.name);
  put_id(to, group.last);
  put_length(to, static_cast<uint64_t>(group.read.value_or(-1)));
  put_length(to, group.pending.size());
  for (const DumpedPending &one : group.pending) {
    to.append(raw_id(one.id));
    put_little_endian(to, static_cast<uint64_t>(one.delivered_ms), 8);
    put_length(to, one.times);
  }
  std::map<Bytes, std::string> owned;
  for (const DumpedPending &one : group.pending) owned[one.consumer].append(raw_id(one.id));
  put_length(to, group.consumers.size());
  for (const DumpedConsumer &consumer : group.consumers) {
    put_string(to, consumer.name);
    put_little_endian(to, static_cast<uint64_t>(consumer.seen_ms), 8);
    const std::string &ids = owned[consumer.name];
    put_length(to, ids.size() / raw_id_bytes);
    to.append(ids);
  }
}

void put_stream(std::string &to, const DumpedStream &stream) {
  std::string nodes;
  size_t count = 0;
  for (size_t at = 0; at < stream.entries.size(); ++count) at = put_node(nodes, stream.entries, at);
  put_length(to, count);
  to.append(nodes);
  put_length(to, stream.entries.size());
  put_id(to, stream.last);
  put_id(to, stream.entries.empty() ? StreamId{} : stream.entries.front().id);
  put_id(to, stream.deleted);
  put_length(to, stream.added);
  put_length(to, stream.groups.size());
  for (const DumpedGroup &group : stream.groups) put_group(to, group);
}

void put_texts(std::string &to, RdbType type, size_t count, const std::vector<std::string> &texts) {
  to += static_cast<char>(type);
  put_length(to, count);
  for (const std::string &text : texts) put_text(to, text);
}

}  // namespace

std::string dump(const DumpedValue &value) {
  std::string payload;
  const std::vector<std::string> &texts = value.texts;
  switch (value.kind) {
    case DumpedValue::Kind::string:
      payload += static_cast<char>(RdbType::string);
      put_text(payload, texts.front());
      break;
    case DumpedValue::Kind::list: put_texts(payload, RdbType::list, texts.size(), texts); break;
    case DumpedValue::Kind::set: put_texts(payload, RdbType::set, texts.size(), texts); break;
    case DumpedValue::Kind::hash: put_texts(payload, RdbType::hash, texts.size() / 2, texts); break;
    case DumpedValue::Kind::sorted_set:
      payload += static_cast<char>(RdbType::sorted_set_2);
      put_length(payload, texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        put_text(payload, texts[i]);
        put_little_endian(payload, std::bit_cast<uint64_t>(value.scores[i]), 8);
      }
      break;
    case DumpedValue::Kind::stream:
      payload += static_cast<char>(RdbType::stream_listpacks_2);
      put_stream(payload, value.stream);
      break;
  }
  put_footer(payload);
  return payload;
}

}  // namespace postern::redis::rdb
