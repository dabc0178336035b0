// rdb_stream_reader.h: StreamReader, which reads a stream for restore(), and Budget, the memory that a value may take.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "redis/wire/rdb.h"
#include "redis/wire/rdb_types.h"
#include "redis/wire/rdb_value.h"

namespace postern::redis::rdb {

class Budget {
 public:
  explicit Budget(size_t bytes) : left_(bytes) {}
  [[nodiscard]] bool take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

class StreamReader {
 public:
  /// All arguments outlive it.
  StreamReader(Reader &from, Budget &budget, DumpedStream &stream) : from_(from), budget_(budget), stream_(stream) {}

  /// `second`: the encoding of Redis 7, which has more members.
  [[nodiscard]] bool read(bool second);

 private:
  bool read_id(StreamId &id);
  bool read_raw_id(StreamId &id);
  bool read_time(int64_t &ms);
  bool read_text(std::string &text);
  bool read_node();
  bool add_entries(StreamId first, std::vector<std::string> &texts);
  bool read_group(bool second);
  bool read_pending(DumpedGroup &group);
  bool read_consumers(DumpedGroup &group);
  bool read_owned(DumpedGroup &group, const std::string &consumer);

  Reader &from_;
  Budget &budget_;
  DumpedStream &stream_;
  std::set<std::string> group_names_;
};

}  // namespace postern::redis::rdb
