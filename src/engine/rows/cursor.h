// cursor.h: the steps of a walk along an index. Walk (walk.h) judges the rows on the way.
//
// The row lands in record[0]. Results are the storage engine's codes, 0 for a row; HA_ERR_KEY_NOT_FOUND and
// HA_ERR_END_OF_FILE say that there is none.
#pragma once

#include <span>
#include <vector>

#include "contract/op.h"
#include "engine/rows/key.h"
#include "engine/server/table.h"

namespace postern::rows {

/// Whether the index can serve the find: one that cannot be walked (HASH) serves whole keys and equality alone, and
/// no key at all leads to all rows, by at_least or at_most, or to none.
Failure check_index(const OpenTable &table, const Find &find);

/// Whether a key leads to one row at most: the whole of a unique key with no NULL in it, or an IN list with a range,
/// which reads one row for each value.
bool leads_to_one_row(const OpenTable &table, const Find &find, const KeyStart &start, const Value *in_value);

int first_row(OpenTable &table, const KeyStart &start);

/// The first row upwards from a key of so many parts, that key included (HA_READ_KEY_OR_NEXT) or not
/// (HA_READ_AFTER_KEY).
int read_upwards(OpenTable &table, const uchar *key, uint parts, ha_rkey_function how);

/// The row after the one that first_row() or next_row() read. `from_first_row` is false where the walk was taken up at
/// another place than the key.
int next_row(OpenTable &table, const KeyStart &start, bool from_first_row);

/// Whether a walk along equal rows has come to others.
bool left_key(const OpenTable &table, const KeyStart &start);

/// A walk down the index with the same order among equal keys each time, so that it can be taken up anywhere: from one
/// group of equal keys to the one before it, and upwards within each. Partitioned tables need it. Merging the
/// partitions' rows downwards, the server leaves equal keys in an order that depends on where the walk began.
class DownByGroups {
 public:
  static bool suits(const OpenTable &table, const KeyStart &start) {
    return descending(start.comparison) && table.table->part_info != nullptr;
  }
  explicit DownByGroups(OpenTable &table) : table_(table) {}

  /// Goes from the row in record[0] to the first of its group.
  int enter();
  /// Takes the walk up at the row in record[0], read upwards.
  int stay();
  int next();
  /// Goes to the group before the one with this key.
  int enter_before(const uchar *key);

 private:
  void note_key();

  OpenTable &table_;
  std::vector<uchar> key_;  // the group's
};

}  // namespace postern::rows
