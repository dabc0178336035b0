// rdb_packed.h: the encodings of small values' elements in one string: listpacks and their predecessors; and Listpack,
// which writes one.
//
// Total: any bytes. Elements that are numbers are read as their digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"

namespace postern::redis::rdb {

/// Receives each element. False: no more may come, and the bytes count as malformed.
using TakeElement = std::function<bool(std::string)>;

// Each returns false if the bytes are malformed, or an element was refused.
[[nodiscard]] bool unpack_listpack(Bytes bytes, const TakeElement &take);
[[nodiscard]] bool unpack_ziplist(Bytes bytes, const TakeElement &take);
[[nodiscard]] bool unpack_zipmap(Bytes bytes, const TakeElement &take);
[[nodiscard]] bool unpack_intset(Bytes bytes, const TakeElement &take);

class Listpack {
 public:
  Listpack();
  /// A text that is a number is stored as one.
  void add(Bytes text);
  void add(int64_t number);
  uint64_t count() const { return count_; }
  size_t bytes() const { return bytes_.size(); }
  /// The finished listpack; nothing can be added any more.
  std::string end();

 private:
  void end_element(size_t begin);

  std::string bytes_;
  uint64_t count_ = 0;
};

}  // namespace postern::redis::rdb
