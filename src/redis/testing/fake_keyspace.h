// fake_keyspace.h: the tables of a generic keyspace, empty, in the engine in memory.
#pragma once

#include "engine/fake/fake_engine.h"

namespace postern::redis {

inline void create_streams(FakeEngine &engine) {
  using Kind = FakeEngine::Type;
  engine.create(
      "postern_redis", "streams",
      {{"k", Kind::blob, false}, {"ms", Kind::natural, false}, {"seq", Kind::natural, false}, {"v", Kind::blob}},
      {{"PRIMARY", {"k", "ms", "seq"}}});
  engine.create("postern_redis", "stream_groups",
                {{"k", Kind::blob, false},
                 {"g", Kind::blob, false},
                 {"ms", Kind::natural},
                 {"seq", Kind::natural},
                 {"entries_read"}},
                {{"PRIMARY", {"k", "g"}}});
  engine.create("postern_redis", "stream_consumers",
                {{"k", Kind::blob, false}, {"g", Kind::blob, false}, {"c", Kind::blob, false}, {"seen"}},
                {{"PRIMARY", {"k", "g", "c"}}});
  engine.create("postern_redis", "stream_pending",
                {{"k", Kind::blob, false},
                 {"g", Kind::blob, false},
                 {"ms", Kind::natural, false},
                 {"seq", Kind::natural, false},
                 {"c", Kind::blob},
                 {"delivered"},
                 {"times"}},
                {{"PRIMARY", {"k", "g", "ms", "seq"}}});
}

inline void create_keyspace(FakeEngine &engine) {
  using Kind = FakeEngine::Type;
  engine.create("postern", "redis_maps",
                {{"prefix", Kind::blob, false},
                 {"db"},
                 {"kind", Kind::text},
                 {"db_schema", Kind::text},
                 {"db_table", Kind::text},
                 {"key_columns", Kind::text},
                 {"value_columns", Kind::text},
                 {"key_index", Kind::text},
                 {"key_separator", Kind::text},
                 {"expire_column", Kind::text},
                 {"expire_unit", Kind::text},
                 {"version_column", Kind::text},
                 {"options", Kind::text}},
                {{"PRIMARY", {"prefix"}}});
  engine.insert(
      "postern", "redis_maps",
      {"", "0", "generic", "postern_redis", "entries", "k", "v", "PRIMARY", ":", "expires", "ms", "version", ""});
  engine.create("postern_redis", "entries",
                {{"k", Kind::blob, false}, {"type"}, {"v", Kind::blob}, {"expires"}, {"version"}, {"len"}, {"head"}},
                {{"PRIMARY", {"k"}}});
  engine.create("postern_redis", "hashes", {{"k", Kind::blob, false}, {"f", Kind::blob, false}, {"v", Kind::blob}},
                {{"PRIMARY", {"k", "f"}}});
  engine.create("postern_redis", "sets", {{"k", Kind::blob, false}, {"m", Kind::blob, false}},
                {{"PRIMARY", {"k", "m"}}});
  engine.create("postern_redis", "zsets",
                {{"k", Kind::blob, false}, {"m", Kind::blob, false}, {"score", Kind::real, false}},
                {{"PRIMARY", {"k", "m"}}, {"by_score", {"k", "score", "m"}}});
  engine.create("postern_redis", "lists", {{"k", Kind::blob, false}, {"pos", Kind::integer, false}, {"v", Kind::blob}},
                {{"PRIMARY", {"k", "pos"}}});
  create_streams(engine);
  engine.create("postern", "redis_functions", {{"library", Kind::blob, false}, {"code", Kind::blob}},
                {{"PRIMARY", {"library"}}});
}

}  // namespace postern::redis
