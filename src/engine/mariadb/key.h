// key.h: from a client's key values to the key the storage engine looks up.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "contract/op.h"
#include "engine/mariadb/table.h"

namespace postern::mariadb {

/// A position in an index, and how to walk from it.
struct KeyStart {
  uchar *bytes = nullptr;
  uint32_t length = 0;
  uint32_t parts = 0;
  /// What was asked, in terms of the key that was built; `never`: no row can match.
  Comparison comparison = Comparison::equal;
  /// The index holds a prefix of a column the key names: each row's whole value must be compared too.
  bool recheck = false;

  key_part_map map() const { return make_prev_keypart_map(parts); }
};

/// Builds into `room` (OpenTable::key or in_key) the key of `values`, with the value at `in_part` replaced by
/// `in_value` if that is given. Uses record[0] as scratch. A failure leaves the server's words in `message`.
Failure build_key(THD *thd, OpenTable &table, std::span<const Value> values, Comparison comparison, uint32_t in_part,
                  const Value *in_value, std::vector<uchar> &room, KeyStart &start, std::string &message);

/// With KeyStart::recheck: whether the row in record[0] really satisfies the comparison.
bool row_matches(OpenTable &table, const KeyStart &start, std::span<const Value> values, uint32_t in_part,
                 const Value *in_value);

}  // namespace postern::mariadb
