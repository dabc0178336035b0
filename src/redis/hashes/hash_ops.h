// hash_ops.h: the base of commands that write hashes, over rows and over the generic keyspace.
#pragma once

#include <cstdint>
#include <span>

#include "redis/hashes/row_hash.h"
#include "redis/work/work.h"

namespace postern::redis {

/// Positions of the columns of `hashes`.
namespace element {
inline constexpr uint32_t field = 1;
inline constexpr uint32_t value = 2;
}  // namespace element

/// On a hash of the generic keyspace.
class HashWork : public Work {
 public:
  HashWork(Call &call, OpenMap &open) : Work(call, open), arguments_(call.arguments), key_(call.arguments[1]) {}

 protected:
  OpenTable &hashes() { return elements(Elements::hashes); }
  std::span<const Value> at(const Entry &entry, Bytes field) {
    return values({Value::of(entry.key), Value::of(field)});
  }

  const std::span<const Bytes> arguments_;
  const Bytes key_;  // as the client sent it
};

/// The place of a command that writes a hash, a row or generic; otherwise an error was answered.
bool may_write_hash(Call &call, const Place &place);

/// Values of the arguments from `first` on, each `step` after the last.
std::span<Value> values_of(Call &call, size_t first, size_t step);

}  // namespace postern::redis
