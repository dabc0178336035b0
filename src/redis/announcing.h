// announcing.h: announce(), which carries out a command and notes the keyspace notifications that follow from its
// reply; notice_rows.def has them. ErasedKeys, the keys that went with it.
#pragma once

#include <string>
#include <vector>

#include "redis/call.h"

namespace postern::redis {

/// Keys, without the prefix's bytes missing, that a command of several steps has deleted.
struct ErasedKeys {
  enum class Why : uint8_t {
    emptied,   ///< nothing was left in it
    replaced,  ///< as a whole; what comes in its place, if anything does, is the command's matter
    expired,
  };
  struct Erased {
    std::string key;
    Why why;
  };
  std::vector<Erased> all{};

  void note(Bytes prefix, Bytes key, Why why) { all.push_back({std::string(prefix).append(key), why}); }
};

/// Carries out the command as its handler does.
Next announce(Call &call);
/// The same for ops that are there: those from `first` on are of a command that may tell of something.
void announce_ops(Call &call, size_t first);

}  // namespace postern::redis
