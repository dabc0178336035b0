// no_row_waits.h: NoRowWaits, a scope in which InnoDB does not wait for a locked row, but fails at once.
#pragma once

class THD;

namespace postern::mariadb {

/// Applies to `thd`. A lock request that does not wait causes no deadlock: lock_rec_enqueue_waiting() checks the
/// timeout before it enqueues.
class NoRowWaits {
 public:
  explicit NoRowWaits(THD *thd);
  ~NoRowWaits();
  NoRowWaits(const NoRowWaits &) = delete;
  NoRowWaits &operator=(const NoRowWaits &) = delete;

  /// innodb_rollback_on_timeout, which is read-only: with it, a refused lock also rolls back the transaction.
  static bool end_transactions();

 private:
  unsigned *seconds_ = nullptr;
  unsigned before_ = 0;
};

}  // namespace postern::mariadb
