// cursor.h: the steps of a walk along an index. Walk (walk.h) judges the rows on the way.
//
// The row lands in record[0]. Results are the storage engine's codes, 0 for a row; HA_ERR_KEY_NOT_FOUND and
// HA_ERR_END_OF_FILE mean that there is none.
#pragma once

#include <span>
#include <vector>

#include "contract/op.h"
#include "engine/rows/key.h"
#include "engine/server/table.h"

namespace postern::rows {

/// Whether the index can serve the find: an unordered one (HASH) serves only equality with whole keys, and a find
/// without a key reads all rows, by at_least or at_most, or none.
Failure check_index(const OpenTable &table, const Find &find);

/// Whether a key finds at most one row: a whole unique key without NULL, or an IN list with a range, which reads one
/// row for each value.
bool leads_to_one_row(const OpenTable &table, const Find &find, const KeyStart &start, const Value *in_value);

int first_row(OpenTable &table, const KeyStart &start);

/// Reads the first row upwards from a key of so many parts, including that key (HA_READ_KEY_OR_NEXT) or not
/// (HA_READ_AFTER_KEY).
int read_upwards(OpenTable &table, const uchar *key, uint parts, ha_rkey_function how);

/// Reads the row after that of first_row() or next_row(). `from_first_row` is false if the walk was resumed elsewhere
/// than at the key.
int next_row(OpenTable &table, const KeyStart &start, bool from_first_row);

/// Whether a walk along equal rows has passed their end.
bool left_key(const OpenTable &table, const KeyStart &start);

/// A downward walk with a stable order among equal keys, so that it can be resumed anywhere: from one group of equal
/// keys to the previous one, and upwards within each. For partitioned tables: when the server merges their rows
/// downwards, the order of equal keys depends on where the walk began.
class DownByGroups {
 public:
  static bool suits(const OpenTable &table, const KeyStart &start) {
    return descending(start.comparison) && table.table->part_info != nullptr;
  }
  explicit DownByGroups(OpenTable &table) : table_(table) {}

  /// Moves from the row in record[0] to the first of its group.
  int enter();
  /// Resumes the walk at the row in record[0], read upwards.
  int stay();
  int next();
  /// Moves to the group before the one with this key.
  int enter_before(const uchar *key);

 private:
  void note_key();

  OpenTable &table_;
  std::vector<uchar> key_;  // the group's
};

}  // namespace postern::rows
