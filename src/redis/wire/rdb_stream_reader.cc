#include "redis/wire/rdb_stream_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "redis/wire/numbers.h"
#include "redis/wire/rdb_bytes.h"
#include "redis/wire/rdb_packed.h"

namespace postern::redis::rdb {
namespace {

StreamId id_of(Bytes raw) {
  return {big_endian(raw.substr(0, 8)), big_endian(raw.substr(8))};
}

/// Reads the elements of a node in order.
class NodeTexts {
 public:
  explicit NodeTexts(std::vector<std::string> &texts) : texts_(texts) {}

  bool empty() const { return at_ == texts_.size(); }
  bool number(int64_t &number) { return !empty() && parse_integer(texts_[at_++], number); }
  bool count(size_t &count) {
    int64_t its = 0;
    if (!number(its) || its < 0) return false;
    count = static_cast<size_t>(its);
    return count <= texts_.size();
  }
  bool texts(size_t count, std::span<std::string> &taken) {
    if (count > texts_.size() - at_) return false;
    taken = std::span(texts_).subspan(at_, count);
    at_ += count;
    return true;
  }

 private:
  std::vector<std::string> &texts_;
  size_t at_ = 0;
};

/// Fields and values of one entry; `shared` are its fields if it has none of its own.
bool take_fields(NodeTexts &node, bool same, std::span<const std::string> shared, DumpedEntry &entry) {
  size_t count = 0;
  std::span<std::string> own;
  if (!same) {
    if (!node.count(count) || !node.texts(2 * count, own)) return false;
    entry.fields.assign(own.begin(), own.end());
    return true;
  }
  if (!node.texts(shared.size(), own)) return false;
  for (size_t i = 0; i < own.size(); ++i) {
    entry.fields.push_back(shared[i]);
    entry.fields.push_back(own[i]);
  }
  return true;
}

}  // namespace

bool StreamReader::read_id(StreamId &id) {
  return from_.length(id.ms) && from_.length(id.number);
}

bool StreamReader::read_raw_id(StreamId &id) {
  Bytes raw;
  if (!from_.take(raw_id_bytes, raw)) return false;
  id = id_of(raw);
  return true;
}

bool StreamReader::read_time(int64_t &ms) {
  Bytes raw;
  if (!from_.take(8, raw)) return false;
  ms = static_cast<int64_t>(little_endian(raw));
  return true;
}

bool StreamReader::read_text(std::string &text) {
  return from_.string(text, budget_.left()) && budget_.take(sizeof(std::string) + text.size());
}

bool StreamReader::read(bool second) {
  uint64_t nodes = 0;
  if (!from_.length(nodes)) return false;
  for (; nodes != 0; --nodes)
    if (!read_node()) return false;
  uint64_t length = 0;
  StreamId first;
  if (!from_.length(length) || !read_id(stream_.last)) return false;
  if (second && (!read_id(first) || !read_id(stream_.deleted) || !from_.length(stream_.added))) return false;
  if (!second) stream_.added = length;
  if (length != stream_.entries.size()) return false;
  if (!stream_.entries.empty() && stream_.last < stream_.entries.back().id) return false;
  uint64_t groups = 0;
  if (!from_.length(groups)) return false;
  for (; groups != 0; --groups)
    if (!read_group(second)) return false;
  return true;
}

bool StreamReader::read_node() {
  std::string key;
  std::string packed;
  if (!read_text(key) || key.size() != raw_id_bytes || !from_.string(packed, budget_.left())) return false;
  std::vector<std::string> texts;
  Budget budget(budget_.left());  // the texts go again
  const bool good = unpack_listpack(packed, [&](std::string text) {
    if (!budget.take(sizeof(std::string) + text.size())) return false;
    texts.push_back(std::move(text));
    return true;
  });
  return good && add_entries(id_of(key), texts);
}

bool StreamReader::add_entries(StreamId first, std::vector<std::string> &texts) {
  NodeTexts node(texts);
  size_t count = 0;
  size_t deleted = 0;
  size_t fields = 0;
  std::span<std::string> shared;
  int64_t number = 0;
  if (!node.count(count) || !node.count(deleted) || !node.count(fields) || !node.texts(fields, shared)) return false;
  if (!node.number(number) || number != 0 || count + deleted == 0) return false;
  for (size_t i = 0; i < count + deleted; ++i) {
    int64_t flags = 0;
    int64_t ms = 0;
    DumpedEntry entry;
    if (!node.number(flags) || !node.number(ms) || !node.number(number)) return false;
    entry.id = {first.ms + static_cast<uint64_t>(ms), first.number + static_cast<uint64_t>(number)};
    if (!take_fields(node, (flags & entry_same_fields) != 0, shared, entry) || !node.number(number)) return false;
    if ((flags & entry_deleted) != 0) continue;
    size_t bytes = sizeof entry;
    for (const std::string &text : entry.fields) bytes += sizeof(std::string) + text.size();
    if (!budget_.take(bytes)) return false;
    if (!stream_.entries.empty() && entry.id <= stream_.entries.back().id) return false;
    stream_.entries.push_back(std::move(entry));
  }
  return node.empty();
}

bool StreamReader::read_group(bool second) {
  DumpedGroup group;
  uint64_t read = 0;
  if (!budget_.take(sizeof group) || !read_text(group.name) || !read_id(group.last)) return false;
  if (second && !from_.length(read)) return false;
  if (second) group.read = static_cast<int64_t>(read);
  if (!budget_.take(sizeof group + group.name.size()) || !group_names_.insert(group.name).second) return false;
  if (!read_pending(group) || !read_consumers(group)) return false;
  const auto is_owned = [](const DumpedPending &one) { return one.owned; };
  if (!std::all_of(group.pending.begin(), group.pending.end(), is_owned)) return false;
  stream_.groups.push_back(std::move(group));
  return true;
}

bool StreamReader::read_pending(DumpedGroup &group) {
  uint64_t count = 0;
  if (!from_.length(count)) return false;
  for (; count != 0; --count) {
    DumpedPending one{.owned = false};
    if (!budget_.take(sizeof one) || !read_raw_id(one.id) || !read_time(one.delivered_ms) || !from_.length(one.times))
      return false;
    if (!group.pending.empty() && one.id <= group.pending.back().id) return false;
    group.pending.push_back(std::move(one));
  }
  return true;
}

bool StreamReader::read_consumers(DumpedGroup &group) {
  uint64_t count = 0;
  if (!from_.length(count)) return false;
  std::set<std::string> names;
  for (; count != 0; --count) {
    DumpedConsumer consumer;
    if (!budget_.take(3 * sizeof consumer) || !read_text(consumer.name) || !read_time(consumer.seen_ms)) return false;
    if (!budget_.take(consumer.name.size()) || !names.insert(consumer.name).second) return false;
    if (!read_owned(group, consumer.name)) return false;
    group.consumers.push_back(std::move(consumer));
  }
  return true;
}

/// The pending entries of a consumer.
bool StreamReader::read_owned(DumpedGroup &group, const std::string &consumer) {
  uint64_t count = 0;
  if (!from_.length(count)) return false;
  for (; count != 0; --count) {
    StreamId id;
    if (!read_raw_id(id) || !budget_.take(consumer.size())) return false;
    const auto found = std::lower_bound(group.pending.begin(), group.pending.end(), id,
                                        [](const DumpedPending &one, const StreamId &its) { return one.id < its; });
    if (found == group.pending.end() || found->id != id || found->owned) return false;
    found->consumer = consumer;
    found->owned = true;
  }
  return true;
}

}  // namespace postern::redis::rdb
