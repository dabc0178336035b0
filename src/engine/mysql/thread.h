// thread.h: a thread of ours as the server knows it: its THD, from birth to death.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "contract/executor.h"
#include "engine/mysql/kill_watch.h"
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

  /// Somebody asked this thread to end its connection (KILL); it needs a new THD before it goes on.
  bool killed() const;
  /// The server is going down.
  bool server_stopping() const;
  /// Whether a global variable may have been set since the THD was born, which has taken them for ever: a batch is a
  /// session of its own in this. A comparison of a few KiB, no lock.
  bool has_old_globals() const;
  /// Gives up the THD, which must hold no table, for a new one. False if there is none to be had.
  bool renew();

  /// The text for the process list.
  void describe(Bytes text);
  /// Shows it again, after the server has shown its own text there.
  void show_text();

 private:
  ServerThread(const ThreadIdentity &who, KillWatch &watch) : who_(who), watch_(watch) {}
  bool create();
  void destroy();

  const ThreadIdentity who_;
  KillWatch &watch_;
  KillWatch::Watched watched_;
  THD *thd_ = nullptr;
  std::vector<char> globals_;  // as they were just before the THD was born
  sql::ShownText text_;
};

/// Whether the server has started and accepts work.
bool server_is_up();

}  // namespace postern::mysqld
