// cursor.h: walking an index from a key, for finds and edits alike.
//
// The row lands in record[0]. Results are the storage engine's codes, 0 for a row; HA_ERR_KEY_NOT_FOUND and
// HA_ERR_END_OF_FILE say that there is none.
#pragma once

#include <span>

#include "contract/op.h"
#include "engine/mariadb/key.h"
#include "engine/mariadb/table.h"

namespace postern::mariadb {

constexpr bool descending(Comparison comparison) {
  return comparison == Comparison::less || comparison == Comparison::at_most;
}

/// Whether the index can serve the find: one that cannot be walked (HASH) serves whole keys and equality alone, and
/// no key at all leads to all rows, by at_least or at_most, or to none.
Failure check_index(const OpenTable &table, const Find &find);

/// Whether a key leads to one row at most: the whole of a unique key with no NULL in it, or an IN list with a range,
/// which reads one row for each value.
bool leads_to_one_row(const OpenTable &table, const Find &find, const KeyStart &start, const Value *in_value);

int first_row(OpenTable &table, const KeyStart &start);

/// The row after the one that first_row() or next_row() read. `from_first_row` is false where the walk was taken up at
/// another place than the key.
int next_row(OpenTable &table, const KeyStart &start, bool from_first_row);

/// Whether a walk along equal rows has come to others.
bool left_key(const OpenTable &table, const KeyStart &start);

}  // namespace postern::mariadb
