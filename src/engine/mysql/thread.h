// thread.h: a thread of ours as the server knows it: its THD, from birth to death.
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

/// Owned and used by the thread it stands for; destroyed on that thread. While it lives the server counts the
/// thread, shows it in the process list and waits for it at shutdown.
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

  /// Somebody asked this thread to end its connection (KILL); it needs a new THD before it goes on.
  bool killed() const;
  /// The server is going down.
  bool server_stopping() const;
  /// Whether a global variable may have been set since the THD was born, which has taken them for ever: a batch is a
  /// session of its own in this. A comparison of a few KiB, no lock.
  bool has_old_globals() const;
  /// Whether there is memory for another THD, as far as that can be known.
  static bool has_room_to_renew() { return true; }
  /// Gives up the THD, which must hold no table, for a new one. False if there is none to be had.
  bool renew();

  /// A statement begins that writes, and ends. `locks_places`: it also locks the gaps between the rows that it reads.
  void begin_writing(bool locks_places);
  void end_writing();
  /// The server's current lock wait timeout.
  int64_t row_wait_ms() const;

  /// The text for the process list.
  void describe(Bytes text);
  /// Shows it again, after the server has shown its own text there.
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
  std::vector<char> globals_;  // as they were just before the THD was born
  sql::ShownText text_;
};

/// Whether the server has started and accepts work.
bool server_is_up();

}  // namespace postern::mysqld
