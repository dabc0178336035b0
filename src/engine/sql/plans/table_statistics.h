// table_statistics.h: TableStatistics, a table's statistics as used by the optimizer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace postern::sql {

struct TableStatistics {
  uint64_t rows = 0;
  /// For each index and each prefix of its parts, the rows for each value.
  std::vector<uint64_t> rows_of_a_key{};

  /// Whether both have as many figures, and none is more than twice the other's.
  bool is_like(const TableStatistics &other) const {
    const auto alike = [](uint64_t one, uint64_t two) { return one <= 2 * two && two <= 2 * one; };
    return alike(rows, other.rows) && std::ranges::equal(rows_of_a_key, other.rows_of_a_key, alike);
  }
};

}  // namespace postern::sql
