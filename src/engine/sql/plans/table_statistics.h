// table_statistics.h: TableStatistics, the figures by which statements on a table are planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace postern::sql {

struct TableStatistics {
  uint64_t rows = 0;
  /// For each part of each index the rows that are equal in it and those before.
  std::vector<uint64_t> rows_of_a_key{};

  /// No figure is more than twice the other's, and there are as many.
  bool is_like(const TableStatistics &other) const {
    const auto alike = [](uint64_t one, uint64_t two) { return one <= 2 * two && two <= 2 * one; };
    return alike(rows, other.rows) && std::ranges::equal(rows_of_a_key, other.rows_of_a_key, alike);
  }
};

}  // namespace postern::sql
