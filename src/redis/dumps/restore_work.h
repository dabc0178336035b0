// restore_work.h: RestoreWork, which makes a key of a payload that DUMP wrote, here or at a Redis.
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
    Bytes error{};           ///< to answer unless the key is there; empty: none
  };
  RestoreWork(Call &call, OpenMap &open, const Wanted &wanted);

 private:
  Task<> run() override;

  Task<> insert(Bytes key, const rdb::DumpedValue &value);
  void add_entry(Bytes key, Type type, const rdb::DumpedValue &value);
  /// The rows of elements, a part of them in each step.
  Task<> insert_elements(Bytes key, const rdb::DumpedValue &value);
  void add_element(Bytes key, const rdb::DumpedValue &value, size_t at);
  Task<> insert_stream(const Entry &entry, const rdb::DumpedStream &stream);
  Task<> insert_group(const Entry &entry, const rdb::DumpedStream &stream, const rdb::DumpedGroup &group);

  const Wanted wanted_;
};

}  // namespace postern::redis
