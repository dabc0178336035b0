// thread.h: ServerThread, a door's thread in the server: its THD.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "contract/executor.h"
#include "engine/mysql/kill_watch.h"
#include "engine/mysql/row_wait.h"
#include "engine/sql/shown_text.h"

class THD;

namespace postern::mysqld {

/// Owned, used and destroyed by its thread. While it lives the server counts the thread, shows it in the process list
/// and waits for it at shutdown.
class ServerThread {
 public:
  /// Waits until the server accepts work. nullptr if it goes down, `stop` becomes true or there is no memory. `watch`
  /// outlives it.
  static std::unique_ptr<ServerThread> enter(const ThreadIdentity &who, KillWatch &watch,
                                             const std::atomic<bool> &stop);
  ~ServerThread();
  ServerThread(const ServerThread &) = delete;
  ServerThread &operator=(const ServerThread &) = delete;

  THD *thd() const { return thd_; }
  RowWait &row_wait() { return row_wait_; }

  /// KILL has ended this thread's connection; it needs a new THD before it continues.
  bool killed() const;
  /// The server is going down.
  bool server_stopping() const;
  /// Whether a global variable may have been set since the THD was made, which has copied them: each batch counts as a
  /// session of its own. Compares a few KiB, without a lock.
  bool has_old_globals() const;
  /// Whether there is probably memory for another THD.
  static bool has_room_to_renew() { return true; }
  /// Replaces the THD, which must hold no table, by a new one. False: none can be made.
  bool renew();

  /// Begin and end of a statement that writes. `locks_places`: it also locks the gaps between the rows that it reads.
  void begin_writing(bool locks_places);
  void end_writing();
  /// The server's current lock wait timeout.
  int64_t row_wait_ms() const;

  /// The text for the process list.
  void describe(Bytes text);
  /// Shows it again, after the server has shown its own text.
  void show_text();

 private:
  ServerThread(const ThreadIdentity &who, KillWatch &watch, const std::atomic<bool> &stop)
      : who_(who), stop_(stop), watch_(watch), row_wait_(limit_, watch) {}
  bool create();
  void destroy();

  const ThreadIdentity who_;
  const std::atomic<bool> &stop_;
  KillWatch &watch_;
  WriteLimit limit_;
  RowWait row_wait_;
  KillWatch::Watched watched_;
  THD *thd_ = nullptr;
  std::vector<char> globals_;  // as they were just before the THD was made
  sql::ShownText text_;
};

/// Whether the server has started and accepts work.
bool server_is_up();

}  // namespace postern::mysqld
