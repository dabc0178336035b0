// unit.h: Unit, neighbouring ops of one connection that are done together or left together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace postern {

/// Two ops or more that always stay in one batch, one run and one lane. Contains no login and no script.
struct Unit {
  uint32_t first = 0;  ///< position among the ops of the same call
  uint32_t count = 1;
  bool atomic = true;  ///< if one op fails, all fail; false: a failed op alone is undone
};

/// Adds those of `units` to `found` that lie among the `count` ops from `first`, with their positions counted from
/// there. `units` are in order.
inline void add_units_within(std::span<const Unit> units, size_t first, size_t count, std::vector<Unit> &found) {
  auto unit = std::lower_bound(units.begin(), units.end(), first,
                               [](const Unit &one, size_t position) { return one.first < position; });
  for (; unit != units.end() && unit->first < first + count; ++unit)
    found.push_back({static_cast<uint32_t>(unit->first - first), unit->count, unit->atomic});
}

}  // namespace postern
