// no_row_waits.h: NoRowWaits, a while in which InnoDB does not wait for a row that is locked, and says so at once.
#pragma once

class THD;

namespace postern::mariadb {

/// For what `thd` does. A lock that is not waited for makes nobody a deadlock's victim: lock_rec_enqueue_waiting()
/// looks at the time before it enqueues.
class NoRowWaits {
 public:
  explicit NoRowWaits(THD *thd);
  ~NoRowWaits();
  NoRowWaits(const NoRowWaits &) = delete;
  NoRowWaits &operator=(const NoRowWaits &) = delete;

  /// innodb_rollback_on_timeout, which is set at the server's start: a lock that was not waited for ends the
  /// transaction, too.
  static bool end_transactions();

 private:
  unsigned *seconds_ = nullptr;
  unsigned before_ = 0;
};

}  // namespace postern::mariadb
