#include "memcached/containers.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace postern::memcached {
namespace {

using items::Mapping;
using items::MappingTable;
using items::Policies;
using items::Policy;

constexpr Bytes container_columns[] = {"name",        "db_schema",          "db_table",
                                       "key_columns", "value_columns",      "flags",
                                       "cas_column",  "expire_time_column", "unique_idx_name_on_key"};
constexpr Bytes policy_columns[] = {"policy_name", "get_policy", "set_policy", "delete_policy", "flush_policy"};
constexpr Bytes option_columns[] = {"name", "value"};
constexpr items::MappingSource::Table tables[] = {
    {"containers", container_columns}, {"cache_policies", policy_columns}, {"config_options", option_columns}};

/// The meaning of a word in cache_policies. `caching` uses the tables, too, because SQL's changes must be visible at
/// once.
std::optional<Policy> policy_of(Bytes word) {
  if (word == "innodb_only" || word == "caching") return Policy::table;
  if (word == "cache_only") return Policy::memory;
  if (word == "disabled") return Policy::disabled;
  return std::nullopt;
}

Policies policies_in(const MappingTable &policies) {
  Policies chosen;
  for (const auto &cells : policies.rows) {
    if (cells[0] != "cache_policy") continue;
    Policy *const places[] = {&chosen.get, &chosen.set, &chosen.erase, &chosen.flush};
    for (size_t i = 0; i < std::size(places); ++i) *places[i] = policy_of(cells[i + 1]).value_or(Policy::table);
  }
  return chosen;
}

std::string option(const MappingTable &options, Bytes name, Bytes otherwise) {
  for (const auto &cells : options.rows)
    if (cells[0] == name) return cells[1];
  return std::string(otherwise);
}

std::string trouble_with(const MappingTable &containers) {
  if (containers.failure == Failure::no_table)
    return "There is no table innodb_memcache.containers; innodb_memcache.sql, which comes with Postern, makes it";
  if (!containers.there()) return "innodb_memcache.containers cannot be read: " + containers.message;
  if (containers.rows.empty())
    return "The table innodb_memcache.containers has no rows; CALL postern.map_table() makes one";
  return {};
}

Mapping understand(std::span<const MappingTable> read) {
  const MappingTable &containers = read[0];
  const MappingTable &policies = read[1];
  const MappingTable &options = read[2];
  Mapping mapping{.delimiter = option(options, "table_map_delimiter", "."), .trouble = trouble_with(containers)};
  // Without containers that is the error to report, not these.
  if (!containers.there()) return mapping;
  const auto doubt = [&](const MappingTable &table, const char *name, const char *instead) {
    if (table.there() || table.passing()) return;
    mapping.doubts.push_back(std::string("innodb_memcache.") + name + " cannot be read, " + instead + ": " +
                             table.message);
  };
  doubt(policies, "cache_policies", "all commands work on the tables");
  doubt(options, "config_options", "separator is '|' and table_map_delimiter '.'");
  const std::string separator = option(options, "separator", "|");
  const Policies chosen = policies_in(policies);
  for (const auto &cells : containers.rows)
    mapping.rows.push_back({.name = cells[0],
                            .database = cells[1],
                            .table = cells[2],
                            .key_columns = cells[3],
                            .value_columns = cells[4],
                            .flags_column = cells[5],
                            .cas_column = cells[6],
                            .expiry_column = cells[7],
                            .index = cells[8],
                            .separator = separator,
                            .policies = chosen});
  return mapping;
}

}  // namespace

constinit const items::MappingSource container_tables{
    .protocol = "memcached", .database = "innodb_memcache", .tables = tables, .understand = understand};

}  // namespace postern::memcached
