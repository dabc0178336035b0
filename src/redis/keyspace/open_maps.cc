#include "redis/keyspace/open_maps.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "items/container.h"

namespace postern::redis {
namespace {

constexpr Bytes hash_columns[] = {"k", "f", "v"};
constexpr Bytes set_columns[] = {"k", "m"};
constexpr Bytes zset_columns[] = {"k", "m", "score"};
constexpr Bytes list_columns[] = {"k", "pos", "v"};
constexpr Bytes stream_columns[] = {"k", "ms", "seq", "v"};
constexpr Bytes group_columns[] = {"k", "g", "ms", "seq", "entries_read"};
constexpr Bytes consumer_columns[] = {"k", "g", "c", "seen"};
constexpr Bytes pending_columns[] = {"k", "g", "ms", "seq", "c", "delivered", "times"};
/// Milliseconds after which a table of a newer script is looked for again.
constexpr int64_t look_again_ms = 1'000;

/// Answers no client: commands on a key of the table report why it is not open.
class OpenReply final : public Reply {
 public:
  OpenReply(const Map &map, OpenTable &table, bool newer) : map_(map), table_(table), newer_(newer) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    table_.failure = outcome.failure;
    if (outcome.failure == Failure::none) return map_.trouble().forget();
    if (newer_ && outcome.failure == Failure::no_table) {
      table_.message = "the keyspace has no tables for streams: an administrator has to run redis.sql again";
      return;
    }
    table_.message = "mapping '" + map_.row().prefix + "' cannot be used: ";
    table_.message += outcome.message.empty() ? failure_text(outcome.failure) : outcome.message;
    // The mapping is wrong, which the administrator must know.
    if (kind_of(outcome.failure) == FailureKind::schema && map_.trouble().note(table_.message))
      log::error("redis: %s", table_.message.c_str());
  }
  void restart() override {
    table_.failure = Failure::none;
    table_.message.clear();
  }

 private:
  const Map &map_;
  OpenTable &table_;
  const bool newer_;  // a table that an older script has not made
};

void add_open(const Map &map, OpenTable &table, const TableSpec &spec, Batch &batch, bool newer = false) {
  Op &op = batch.add();
  op.verb = Verb::open;
  op.reply = batch.arena().make<OpenReply>(map, table, newer);
  op.slot = &table.slot;
  op.spec = batch.arena().make<TableSpec>(spec);
}

TableSpec spec_of(const Map &map, Elements elements) {
  TableSpec spec{.database = map.row().database, .table = "", .index = "PRIMARY", .columns = {}, .key_columns = 2};
  switch (elements) {
    case Elements::hashes: spec.table = "hashes", spec.columns = hash_columns; break;
    case Elements::sets: spec.table = "sets", spec.columns = set_columns; break;
    case Elements::zsets: spec.table = "zsets", spec.columns = zset_columns; break;
    case Elements::zsets_by_score:
      spec.table = "zsets", spec.columns = zset_columns;
      spec.index = "by_score";
      spec.key_columns = 0;
      break;
    case Elements::lists: spec.table = "lists", spec.columns = list_columns; break;
    case Elements::streams: spec.table = "streams", spec.columns = stream_columns, spec.key_columns = 3; break;
    case Elements::stream_groups: spec.table = "stream_groups", spec.columns = group_columns; break;
    case Elements::stream_consumers:
      spec.table = "stream_consumers", spec.columns = consumer_columns, spec.key_columns = 3;
      break;
    case Elements::stream_pending:
      spec.table = "stream_pending", spec.columns = pending_columns, spec.key_columns = 4;
      break;
  }
  return spec;
}

bool is_of_newer_script(Elements elements) {
  return elements >= Elements::streams;
}

/// As split_key(); for every request.
[[gnu::always_inline]] inline bool split(const Map &map, Bytes key, std::span<Value> values) {
  const Bytes rest = key.substr(map.prefix().size());
  if (values.size() == 1) {
    values[0] = Value::of(rest);
    return true;
  }
  items::Pieces pieces(rest, map.row().separator, map.key_columns());
  size_t count = 0;
  for (Bytes piece; pieces.next(piece); ++count) values[count] = Value::of(piece);
  return count == values.size();
}

}  // namespace

bool split_key(const Map &map, Bytes key, std::span<Value> values) {
  return split(map, key, values);
}

void OpenMaps::use(std::shared_ptr<const MapSnapshot> snapshot) {
  std::vector<std::unique_ptr<OpenMap>> open(snapshot->maps().size());
  for (std::unique_ptr<OpenMap> &one : open_) {
    if (one == nullptr) continue;
    const auto same = std::find(snapshot->maps().begin(), snapshot->maps().end(), one->map);
    if (same != snapshot->maps().end()) open[static_cast<size_t>(same - snapshot->maps().begin())] = std::move(one);
  }
  open_ = std::move(open);
  snapshot_ = std::move(snapshot);
}

Place OpenMaps::find(uint32_t db, Bytes key, Batch &batch) {
  Place place{.name = key};
  const uint32_t number = snapshot_ == nullptr ? MapSnapshot::none : snapshot_->find(db, key);
  if (number == MapSnapshot::none) return place;
  const Map &map = *snapshot_->maps()[number];
  if (!map.problem().empty()) {
    place.state = Place::State::broken;
    place.why = batch.arena().copy("mapping '" + map.row().prefix + "' cannot be used: " + map.problem());
    return place;
  }
  place.open = &open(number, batch);
  const std::span<Value> values = batch.arena().array<Value>(map.key_columns());
  place.state = split(map, key, values) ? Place::State::there : Place::State::no_row;
  place.key = values;
  return place;
}

OpenMap *OpenMaps::opened(uint32_t db, Bytes key) const {
  const uint32_t number = snapshot_ == nullptr ? MapSnapshot::none : snapshot_->find(db, key);
  return number == MapSnapshot::none ? nullptr : open_[number].get();
}

OpenMap &OpenMaps::open(uint32_t number, Batch &batch) {
  std::unique_ptr<OpenMap> &open = open_[number];
  if (open == nullptr) open = std::make_unique<OpenMap>(snapshot_->maps()[number]);
  if (!open->table.slot.filled() && !open->table.opening) {
    opening_.push_back(&open->table);
    open->table.opening = true;
    add_open(*open->map, open->table, open->map->spec(), batch);
  }
  return *open;
}

OpenTable &OpenMaps::open(OpenMap &open, Elements elements, Batch &batch) {
  std::unique_ptr<OpenTable> &table = open.elements[static_cast<size_t>(elements)];
  if (table == nullptr) table = std::make_unique<OpenTable>();
  if (!table->slot.filled() && !table->opening) {
    const bool newer = is_of_newer_script(elements);
    if (newer && table->failure == Failure::no_table && clock_ms() - table->looked_ms < look_again_ms) return *table;
    table->looked_ms = newer ? clock_ms() : 0;
    opening_.push_back(table.get());
    table->opening = true;
    add_open(*open.map, *table, spec_of(*open.map, elements), batch, newer);
  }
  return *table;
}

OpenTable &OpenMaps::open_strings(OpenMap &open, Batch &batch) {
  if (open.strings == nullptr) open.strings = std::make_unique<OpenTable>();
  OpenTable &table = *open.strings;
  if (!table.slot.filled() && !table.opening) {
    opening_.push_back(&table);
    table.opening = true;
    add_open(*open.map, table, open.map->string_spec(batch.arena().array<Bytes>(string_entry::columns)), batch);
  }
  return table;
}

OpenTable *OpenMaps::open(OpenMap &open, std::span<const uint32_t> fields, Batch &batch) {
  auto &parts = open.parts;
  const auto same = [&](const auto &part) { return std::ranges::equal(part->fields, fields); };
  auto at = std::find_if(parts.begin(), parts.end(), same);
  if (at == parts.end()) {
    if (parts.size() == OpenMap::parts_max) return nullptr;
    parts.push_back(std::make_unique<OpenMap::Part>());
    parts.back()->fields.assign(fields.begin(), fields.end());
    at = parts.end() - 1;
  }
  OpenTable &table = (*at)->table;
  if (!table.slot.filled() && !table.opening) {
    opening_.push_back(&table);
    table.opening = true;
    const std::span<Bytes> names = batch.arena().array<Bytes>(open.map->first_field() + fields.size());
    add_open(*open.map, table, open.map->spec(fields, names), batch);
  }
  return &table;
}

bool OpenMaps::in_keyspace(const TableSlot &slot) const {
  return std::any_of(open_.begin(), open_.end(), [&slot](const std::unique_ptr<OpenMap> &open) {
    if (open == nullptr || !open->map->generic()) return false;
    const auto is_it = [&slot](const std::unique_ptr<OpenTable> &table) {
      return table != nullptr && &table->slot == &slot;
    };
    return &open->table.slot == &slot || is_it(open->strings) ||
           std::any_of(open->elements.begin(), open->elements.end(), is_it);
  });
}

void OpenMaps::settled() {
  for (OpenTable *const table : opening_) table->opening = false;
  opening_.clear();
}

}  // namespace postern::redis
