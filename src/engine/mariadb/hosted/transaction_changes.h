// transaction_changes.h: TransactionChanges, the rows that a session's transaction has changed so far: whether its end
// is small enough for a worker's turn.
//
// A worker's own statements change few rows each, of plain InnoDB tables. The server's may change anything: full-text
// indexes, system-versioned tables, tables of other storage engines, millions of rows.
#pragma once

#include <cstdint>

class THD;

namespace postern::mariadb {

/// Whether the transaction is of InnoDB alone and has changed nothing. Its end is written nowhere, so that neither
/// FLUSH TABLES WITH READ LOCK nor a stage of BACKUP, nor a disk, nor a replica delays it.
bool wrote_nothing(THD *thd);

/// Whether no other storage engine takes part in the transaction.
bool is_of_innodb_alone(THD *thd);

/// A session has one; for its owner.
class TransactionChanges {
 public:
  /// By the server's counters of rows that the session has written. FLUSH STATUS, which resets them, ends a
  /// transaction.
  static uint64_t counted(const THD *thd);

  /// The server has served a command, before which `counted_before` was counted.
  void note_served(THD *thd, uint64_t counted_before);
  /// A worker has.
  void note_in_turn(THD *thd) { note_served(thd, counted(thd)); }

  /// Whether workers alone have changed rows, and not many.
  bool are_small(const THD *thd) const;

 private:
  uint64_t before_ = 0;  // counted when the transaction had changed nothing
  bool by_server_ = false;
};

}  // namespace postern::mariadb
