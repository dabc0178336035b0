// transaction_changes.h: TransactionChanges, the rows that a session's transaction has changed so far, which decide
// whether a worker's turn can end it.
//
// Workers' statements change few rows each, in plain InnoDB tables. The server's statements may change anything:
// full-text indexes, system-versioned tables, tables of other storage engines, millions of rows.
#pragma once

#include <cstdint>

class THD;

namespace postern::mariadb {

/// Whether the transaction involves only InnoDB and has changed nothing. Its end writes nothing, so neither FLUSH
/// TABLES WITH READ LOCK, a stage of BACKUP, a disk, nor a replica can delay it.
bool wrote_nothing(THD *thd);

/// Whether no other storage engine takes part in the transaction.
bool is_of_innodb_alone(THD *thd);

/// A session has one; for its owner.
class TransactionChanges {
 public:
  /// Uses the server's counters of rows written by the session. FLUSH STATUS, which resets them, ends a transaction.
  static uint64_t counted(const THD *thd);

  /// The server has served a command; `counted_before`: the count before it.
  void note_served(THD *thd, uint64_t counted_before);
  /// A worker has changed rows.
  void note_in_turn(THD *thd) { note_served(thd, counted(thd)); }

  /// Whether only workers have changed rows, and few.
  bool are_small(const THD *thd) const;

 private:
  uint64_t before_ = 0;  // the count when the transaction had changed nothing
  bool by_server_ = false;
};

}  // namespace postern::mariadb
