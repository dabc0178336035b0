// key.h: from a client's key values to the key the storage engine looks up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "contract/op.h"
#include "engine/server/table.h"

namespace postern::rows {

constexpr bool descending(Comparison comparison) {
  return comparison == Comparison::less || comparison == Comparison::at_most;
}

/// A position in an index, how to walk from it, and which of the rows on the way are meant.
struct KeyStart {
  uchar *bytes = nullptr;
  uint32_t length = 0;  ///< the parts' to search by
  uint32_t parts = 0;   ///< to search by; 0: from the end of the index
  /// The op's comparison, in terms of the key that was built; `never`: no row can match.
  Comparison comparison = Comparison::equal;
  /// The walk meets other rows, too: row_matches() sorts them out.
  bool recheck = false;

  // For row_matches().
  Comparison asked = Comparison::equal;
  uint32_t asked_parts = 0;
  key_part_map as_text = 0;  ///< the parts in which whole values are compared, as text

  key_part_map map() const { return make_prev_keypart_map(parts); }
};

/// Builds into `room`, which has room for a whole key, the key of `values`, no more than the index has parts, with the
/// value at `in_part` replaced by `in_value` if that is given. Uses record[0] as scratch.
void build_key(THD *thd, OpenTable &table, std::span<const Value> values, Comparison comparison, uint32_t in_part,
               const Value *in_value, std::vector<uchar> &room, KeyStart &start);

/// A client's text as the column's character set has it, in `room` if that takes a conversion (TableSpec::unicode).
/// False: the column cannot have it.
bool in_charset(const OpenTable &table, const Field &field, Bytes &text, std::string &room);

/// With KeyStart::recheck: whether the row in record[0] really satisfies the comparison.
bool row_matches(OpenTable &table, const KeyStart &start, std::span<const Value> values, uint32_t in_part,
                 const Value *in_value);

}  // namespace postern::rows
