// restore_work.h: RestoreWork, which makes a key from a payload that DUMP wrote, here or on a Redis server.
#pragma once

#include <cstdint>
#include <span>

#include "redis/streams/stream_work.h"
#include "redis/wire/rdb_value.h"

namespace postern::redis {

class RestoreWork final : public StreamWork {
 public:
  struct Wanted {
    bool replaces = false;
    int64_t expires_ms = 0;  ///< since 1970; 0: never
    Bytes error{};           ///< the error if the key does not exist; empty: none
  };
  RestoreWork(Call &call, OpenMap &open, const Wanted &wanted);

 private:
  Task<> run() override;

  Task<> insert(Bytes key, const rdb::DumpedValue &value);
  void add_entry(Bytes key, Type type, const rdb::DumpedValue &value);
  /// Inserts the rows of elements, some in each step.
  Task<> insert_elements(Bytes key, const rdb::DumpedValue &value);
  void add_element(Bytes key, const rdb::DumpedValue &value, size_t at);
  Task<> insert_stream(const Entry &entry, const rdb::DumpedStream &stream);
  Task<> insert_group(const Entry &entry, const rdb::DumpedStream &stream, const rdb::DumpedGroup &group);

  const Wanted wanted_;
};

}  // namespace postern::redis
