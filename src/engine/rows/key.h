// key.h: converts a client's key values to a key for the storage engine.
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

/// A position in an index, the direction of the walk from it, and the rows that match on the way.
struct KeyStart {
  uchar *bytes = nullptr;
  uint32_t length = 0;  ///< bytes of the parts to search by
  uint32_t parts = 0;   ///< parts to search by; 0: from the end of the index
  /// The op's comparison, in terms of the key that was built; `never`: no row can match.
  Comparison comparison = Comparison::equal;
  /// The walk meets other rows, too: row_matches() excludes them.
  bool recheck = false;

  // For row_matches().
  Comparison asked = Comparison::equal;
  uint32_t asked_parts = 0;
  key_part_map as_text = 0;  ///< the parts that are compared by whole values, as text

  key_part_map map() const { return make_prev_keypart_map(parts); }
};

/// Builds into `room`, which has room for a whole key, the key of `values`, no more than the index has parts, with the
/// value at `in_part` replaced by `in_value` if that is given. Uses record[0] as scratch.
void build_key(THD *thd, OpenTable &table, std::span<const Value> values, Comparison comparison, uint32_t in_part,
               const Value *in_value, std::vector<uchar> &room, KeyStart &start);

/// A client's text in the column's character set, in `room` if it is converted (TableSpec::unicode). False: the column
/// cannot store it.
bool in_charset(const OpenTable &table, const Field &field, Bytes &text, std::string &room);

/// With KeyStart::recheck: whether the row in record[0] really satisfies the comparison.
bool row_matches(OpenTable &table, const KeyStart &start, std::span<const Value> values, uint32_t in_part,
                 const Value *in_value);

}  // namespace postern::rows
