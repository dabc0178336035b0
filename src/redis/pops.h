// pops.h: `numkeys key [key ...] WHERE [COUNT count]`, the arguments of LMPOP and ZMPOP, and counts of pops.
#pragma once

#include <cstdint>
#include <vector>

#include "redis/algebra.h"

namespace postern::redis {

struct ManyKeysPop {
  std::vector<Source> sources{};
  OpenMap *open = nullptr;  ///< nullptr: there can be none of the keys
  bool from_end = false;
  uint64_t count = 1;
  std::span<const Bytes> keys{};  ///< of the call's arguments
};

/// From argument `at` on; `first` and `last` are the words for where. False: told what is wrong.
bool read_many_keys_pop(Call &call, size_t at, Bytes first, Bytes last, ManyKeysPop &pop);

/// `command key [count]`. False: told what is wrong.
bool read_pop_count(Call &call, bool &one, uint64_t &count);

}  // namespace postern::redis
