// row_wait.h: RowWait, how long the writes of one executor wait for the locks of the storage engine.
//
// A write that takes longer than it may is interrupted, as KILL QUERY would: what InnoDB waits for then is a lock, or
// the disk, which goes on. So the time of a write counts, not that of its waits alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/mysql/kill_watch.h"

namespace postern::mysqld {

/// Owned and used by the thread with the waits; one a thread.
class RowWait {
 public:
  RowWait(WriteLimit &limit, KillWatch &watch) : limit_(limit), watch_(watch) {}
  RowWait(const RowWait &) = delete;
  RowWait &operator=(const RowWait &) = delete;

  void set_thd(THD *thd) { thd_ = thd; }

  /// From now on all writes together may wait `ms` milliseconds.
  void allow(int64_t ms);
  /// Whether a write is under way.
  void watch(bool on);
  /// Whether a wait was cut short since the last call, after which the thread may go on as if nobody had interrupted
  /// it. To be asked after every write.
  bool take_expired();
  bool expired() const { return limit_.expired(); }
  /// Waits that were cut short since the last call: no others are known.
  uint64_t take_waits() { return std::exchange(waits_, 0); }

  /// The object of a wait.
  enum class For : uint8_t { nothing, row, table };
  /// The object of the wait that was cut short, as far as it is known.
  For last() const { return expired() && rows_alone_ ? For::row : For::nothing; }
  void forget_last() {}
  /// Whether the storage engine has no lock for ids of its own (innodb_autoinc_lock_mode).
  void expect_rows_alone(bool rows_alone) { rows_alone_ = rows_alone; }

 private:
  WriteLimit &limit_;
  KillWatch &watch_;
  THD *thd_ = nullptr;
  int64_t left_us_ = 0;
  int64_t began_us_ = 0;  // the write under way
  uint64_t waits_ = 0;
  bool watching_ = false;
  bool rows_alone_ = false;
};

}  // namespace postern::mysqld
