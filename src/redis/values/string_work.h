// string_work.h: StringWork, a command that writes strings among other steps of its transaction.
#pragma once

#include <span>
#include <string>

#include "redis/values/work.h"

namespace postern::redis {

class StringWork : public Work {
 protected:
  using Work::Work;

  /// A key's value, locked.
  struct Held {
    bool there = false;
    Type type = Type::none;
    std::string text{};  ///< a string's
  };
  /// Nobody else changes the key, or makes it, before the transaction ends.
  Task<Held> hold(const Place &place);
  /// Sets the string without expiry, whatever was there. `value` lives until this is done.
  Task<> set(const Place &place, Bytes value);
  /// Deletes the key, if it is there.
  Task<> remove(const Place &place);

  /// A new row of the key, with that and without expiry.
  std::span<const Value> row_of(const Place &place, Bytes value);
};

}  // namespace postern::redis
