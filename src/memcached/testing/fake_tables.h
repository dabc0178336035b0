// fake_tables.h: the tables of innodb_memcache, and some to map, in the engine of tests.
#pragma once

#include <string>
#include <vector>

#include "engine/fake/fake_engine.h"

namespace postern::memcached {

inline void map_container(FakeEngine &engine, const std::vector<std::string> &row) {
  engine.insert("innodb_memcache", "containers", std::vector<FakeEngine::Cell>(row.begin(), row.end()));
}

/// Without a container; one that is there is emptied.
inline void make_no_containers(FakeEngine &engine) {
  using Type = FakeEngine::Type;
  engine.create("innodb_memcache", "containers",
                {{"name", Type::text, false},
                 {"db_schema", Type::text},
                 {"db_table", Type::text},
                 {"key_columns", Type::text},
                 {"value_columns", Type::text},
                 {"flags", Type::text},
                 {"cas_column", Type::text},
                 {"expire_time_column", Type::text},
                 {"unique_idx_name_on_key", Type::text}},
                {{"PRIMARY", {"name"}}});
}

/// MySQL's example `aaa`, `plain` without anything but key and value, and `wide` with several columns for each.
inline void make_containers(FakeEngine &engine) {
  using Type = FakeEngine::Type;
  make_no_containers(engine);
  engine.create("test", "demo_test", {{"c1", Type::text, false}, {"c2", Type::text}, {"c3"}, {"c4"}, {"c5"}},
                {{"PRIMARY", {"c1"}}});
  engine.create("test", "plain", {{"id", Type::integer, false}, {"v", Type::text}}, {{"PRIMARY", {"id"}}});
  engine.create("test", "wide",
                {{"a", Type::integer, false}, {"b", Type::text, false}, {"x", Type::text}, {"y"}, {"z", Type::text}},
                {{"PRIMARY", {"a", "b"}}});
  map_container(engine, {"aaa", "test", "demo_test", "c1", "c2", "c3", "c4", "c5", "PRIMARY"});
  map_container(engine, {"plain", "test", "plain", "id", "v", "0", "0", "0", "PRIMARY"});
  map_container(engine, {"wide", "test", "wide", "a,b", "x,y,z", "0", "0", "0", "PRIMARY"});
}

/// A row of cache_policies.
inline void make_policies(FakeEngine &engine, const std::vector<std::string> &row) {
  using Type = FakeEngine::Type;
  engine.create("innodb_memcache", "cache_policies",
                {{"policy_name", Type::text, false},
                 {"get_policy", Type::text},
                 {"set_policy", Type::text},
                 {"delete_policy", Type::text},
                 {"flush_policy", Type::text}},
                {{"PRIMARY", {"policy_name"}}});
  engine.insert("innodb_memcache", "cache_policies", std::vector<FakeEngine::Cell>(row.begin(), row.end()));
}

}  // namespace postern::memcached
