// string_work.h: StringWork, a command that writes strings among other steps of its transaction.
#pragma once

#include <span>
#include <string>

#include "redis/work/work.h"

namespace postern::redis {

class StringWork : public Work {
 protected:
  using Work::Work;

  /// A key's value, locked.
  struct Held {
    bool there = false;
    Type type = Type::none;
    std::string text{};      ///< a string's
    int64_t expires_ms = 0;  ///< 0: never
  };
  /// Locks the key, existing or not, until the transaction ends.
  Task<Held> hold(const Place &place);
  /// The same without a lock.
  Task<Held> see(const Place &place);
  /// Sets the string, replacing a key of any type. `value` lives until this is done.
  Task<> set(const Place &place, Bytes value, int64_t expires_ms = 0);
  /// Deletes the key, if it exists.
  Task<> remove(const Place &place);

  /// Inserts a row for the key.
  std::span<const Value> row_of(const Place &place, Bytes value, int64_t expires_ms = 0);

 private:
  Held held_in(const Place &place, const StepReply &found) const;
};

}  // namespace postern::redis
