#include "redis/keyspace/maps.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.h"

namespace postern::redis {
namespace {

constexpr Bytes columns[] = {
    "prefix",        "db",        "kind",          "db_schema",     "db_table",    "key_columns",
    "value_columns", "key_index", "key_separator", "expire_column", "expire_unit", "version_column",
    "options"};
constexpr items::ConfigTables::Table map_tables[] = {{"redis_maps", columns}};

std::string trouble_with(const items::MappingTable &read) {
  if (read.failure == Failure::no_table)
    return "There is no table postern.redis_maps; redis.sql, which comes with Postern, makes it";
  if (!read.there()) return "postern.redis_maps cannot be read: " + read.message;
  if (read.rows.empty()) return "The table postern.redis_maps has no rows; CALL postern.redis_map_row() makes one";
  return {};
}

MapRow row_of(std::vector<std::string> &cells) {
  size_t next = 0;
  const auto take = [&] { return std::move(cells[next++]); };
  MapRow row;
  for (std::string *const place :
       {&row.prefix, &row.db, &row.kind, &row.database, &row.table, &row.key_columns, &row.value_columns, &row.index,
        &row.separator, &row.expire_column, &row.expire_unit, &row.version_column, &row.options})
    *place = take();
  return row;
}

bool before(const Map &left, const Map &right) {
  return left.db() != right.db() ? left.db() < right.db() : left.prefix() < right.prefix();
}

}  // namespace

MapSnapshot::MapSnapshot(std::vector<std::shared_ptr<const Map>> maps, std::string trouble)
    : maps_(std::move(maps)), trouble_(std::move(trouble)) {
  for (uint32_t i = 0; i < maps_.size(); ++i) {
    Database &database = databases_[maps_[i]->db()];
    if (database.by_prefix.empty()) database.range.first = i;
    database.range.second = i + 1;
    database.by_prefix.emplace(maps_[i]->prefix(), i);
    database.prefix_lengths.push_back(maps_[i]->prefix().size());
  }
  for (Database &database : databases_) {
    std::vector<size_t> &lengths = database.prefix_lengths;
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

uint32_t MapSnapshot::find(uint32_t db, Bytes key) const {
  const Database &database = databases_[db];
  for (const size_t length : database.prefix_lengths) {
    if (length > key.size()) continue;
    if (length == 0) return database.range.first;  // of all of the database the first, in the order of their prefixes
    const auto found = database.by_prefix.find(key.substr(0, length));
    if (found != database.by_prefix.end()) return found->second;
  }
  return none;
}

std::shared_ptr<const Map> MapSnapshot::with_row(const MapRow &row) const {
  for (const Database &database : databases_) {
    const auto found = database.by_prefix.find(row.prefix);
    if (found != database.by_prefix.end() && maps_[found->second]->row() == row) return maps_[found->second];
  }
  return nullptr;
}

Maps::Maps(bool tells) : ConfigTables("postern", map_tables), tells_(tells) {}

std::shared_ptr<const MapSnapshot> Maps::snapshot() const {
  const std::lock_guard guard(mutex_);
  return snapshot_;
}

void Maps::take(std::span<items::MappingTable> read, int64_t now_ms) {
  note_read(now_ms);
  const std::shared_ptr<const MapSnapshot> old = snapshot();
  std::string trouble = trouble_with(read[0]);
  std::vector<std::shared_ptr<const Map>> maps;
  size_t known = 0;
  for (std::vector<std::string> &cells : read[0].rows) {
    auto map = std::make_shared<const Map>(row_of(cells));
    if (auto same = old == nullptr ? nullptr : old->with_row(map->row()); same != nullptr) {
      map = std::move(same);
      ++known;
    } else {
      if (tells_ && !map->problem().empty())
        log::error("redis: mapping '%s' cannot be used: %s", map->row().prefix.c_str(), map->problem().c_str());
    }
    maps.push_back(std::move(map));
  }
  if (old != nullptr && old->trouble() == trouble && known == maps.size() && known == old->maps().size()) return;
  if (tells_ && !trouble.empty() && (old == nullptr || old->trouble() != trouble))
    log::note("redis: %s", trouble.c_str());
  std::sort(maps.begin(), maps.end(), [](const auto &left, const auto &right) { return before(*left, *right); });
  auto fresh = std::make_shared<const MapSnapshot>(std::move(maps), std::move(trouble));

  const std::lock_guard guard(mutex_);
  snapshot_ = std::move(fresh);
  next_generation();
}

}  // namespace postern::redis
