// row_wait.h: RowWait, which bounds how long one executor's writes wait for locks of the storage engine.
//
// A write that takes too long is interrupted, as by KILL QUERY: a lock wait of InnoDB ends then, and a wait for the
// disk goes on. So the whole time of a write counts, not only its waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/mysql/kill_watch.h"

namespace postern::mysqld {

/// Owned and used by the waiting thread; one for each thread.
class RowWait {
 public:
  RowWait(WriteLimit &limit, KillWatch &watch) : limit_(limit), watch_(watch) {}
  RowWait(const RowWait &) = delete;
  RowWait &operator=(const RowWait &) = delete;

  void set_thd(THD *thd) { thd_ = thd; }

  /// Bounds all further writes together to `ms` milliseconds.
  void allow(int64_t ms);
  /// Whether a write is under way.
  void watch(bool on);
  /// Whether a wait was cut short since the last call; clears the interruption. Called after every write.
  bool take_expired();
  bool expired() const { return limit_.expired(); }
  /// The number of waits cut short since the last call: others are unknown.
  uint64_t take_waits() { return std::exchange(waits_, 0); }

  /// The object of a wait.
  enum class For : uint8_t { nothing, row, table };
  /// The object of the wait that was cut short, if known.
  For last() const { return expired() && rows_alone_ ? For::row : For::nothing; }
  void forget_last() {}
  /// Whether the storage engine uses no AUTO-INC lock (innodb_autoinc_lock_mode).
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
