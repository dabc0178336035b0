// announcing.h: announce(), which runs a command and notes the keyspace notifications that follow from its reply
// (notice_rows.def); and ErasedKeys, the keys that the command deleted.
#pragma once

#include <string>
#include <vector>

#include "redis/call.h"

namespace postern::redis {

/// Full names of keys that a command of several steps has deleted.
struct ErasedKeys {
  enum class Why : uint8_t {
    emptied,   ///< its last element was removed
    replaced,  ///< deleted as a whole; the command may then replace it
    expired,
  };
  struct Erased {
    std::string key;
    Why why;
  };
  std::vector<Erased> all{};

  void note(Bytes prefix, Bytes key, Why why) { all.push_back({std::string(prefix).append(key), why}); }
};

/// Runs the command's handler.
Next announce(Call &call);
/// The same for ops that were added already, from `first` on, by a command that may cause notifications.
void announce_ops(Call &call, size_t first);

}  // namespace postern::redis
