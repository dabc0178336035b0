// pops.h: pops from the first of several keys that has elements: LMPOP, ZMPOP, and tries of BLPOP, BZPOPMIN and their
// variants.
#pragma once

#include <cstdint>
#include <vector>

#include "redis/collections/algebra.h"
#include "redis/collections/blocking.h"
#include "redis/call_tables.h"

namespace postern::redis {

struct ManyKeysPop {
  std::vector<Source> sources{};
  OpenMap *open = nullptr;  ///< nullptr: none of the keys can exist
  bool from_end = false;
  uint64_t count = 1;
  std::span<const Bytes> keys{};  ///< among the call's arguments
};

/// Parses from argument `at` on; `first` and `last` are the words for the ends. Returns false after answering an error.
bool read_many_keys_pop(Call &call, size_t at, Bytes first, Bytes last, ManyKeysPop &pop);

/// `command key [count]`. Returns false after answering an error.
bool read_pop_count(Call &call, bool &one, uint64_t &count);

/// Begins a pop from the first of several keys that has elements. `one`: answers one element, not an array.
template <class TheWork>
Next pop_of_first(Call &call, ManyKeysPop wanted, bool one, Attempt *attempt) {
  if (wanted.open == nullptr) return nothing_there(call, attempt);
  return begin_work(call, tables_of(call).keep<TheWork>(call, std::move(wanted), one, attempt));
}

/// `command key [key ...] timeout`, once.
template <class TheWork, bool from_end>
Next try_pop_of_keys(Call &call, Attempt *attempt) {
  ManyKeysPop wanted{.from_end = from_end, .keys = call.arguments.subspan(1, call.arguments.size() - 2)};
  if (!add_sources(call, wanted.keys, wanted.sources, wanted.open)) return Next::go_on;
  return pop_of_first<TheWork>(call, std::move(wanted), true, attempt);
}

}  // namespace postern::redis
