// thread.h: a thread of ours as the server knows it: its THD, from birth to death, and its wake-up on KILL.
#pragma once

#include <atomic>
#include <memory>

#include "contract/executor.h"
#include "engine/mariadb/basics/globals.h"
#include "engine/mariadb/basics/row_wait.h"
#include "engine/sql/shown_text.h"

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

class ActingContext;

/// The user that the process list shows for threads of ours. Lives forever.
extern const char *const thread_user;

/// Owned and used by the thread it stands for, which may change; destroyed on that thread. While it lives the server
/// counts the thread, shows it in the process list and waits for it at shutdown.
class ServerThread {
 public:
  /// Waits until the server accepts work. nullptr if it goes down, `stop` becomes true or there is no memory.
  static std::unique_ptr<ServerThread> enter(const ThreadIdentity &who, const std::atomic<bool> &stop);
  ~ServerThread();
  ServerThread(const ServerThread &) = delete;
  ServerThread &operator=(const ServerThread &) = delete;

  THD *thd() const { return thd_; }
  RowWait &row_wait() { return row_wait_; }

  /// The calling thread is nobody's from now on, and whoever calls enter_again() is the one that this stands for.
  void leave();
  void enter_again();

  /// Somebody asked this thread to end its connection (KILL); it needs a new THD before it goes on.
  bool killed() const;
  /// The server is going down.
  bool server_stopping() const;
  /// Whether there is memory for another THD, about: renew() cannot do without.
  static bool has_room_to_renew();
  /// Gives up the THD, which must hold no table, for a new one. False if the server is going down.
  bool renew();

  /// The global variables as the THD has them.
  Globals &globals() { return globals_; }
  /// Makes the THD ready for a statement that writes; end_writing() follows when its tables are closed. `locks_places`:
  /// rows that it reads to lock them are kept from coming, too, where they are not.
  void begin_writing(bool locks_places);
  void end_writing();
  /// The server's innodb_lock_wait_timeout as it is now, in milliseconds.
  int64_t row_wait_ms() const;

  /// For acting as an account with thd().
  ActingContext &acting() { return *acting_; }

  /// The text for the process list, which shows the thread from now on.
  void describe(Bytes text);
  /// Shows it again, where the server has shown its own text instead: it shows none of its own.
  void show_text() {}
  /// The process list has no row for the thread until show(). KILL finds it still, and the server counts it. Nothing
  /// may be written with the THD meanwhile.
  void hide();
  void show();

 private:
  ServerThread(const ThreadIdentity &who, const std::atomic<bool> &stop);
  bool create();
  void destroy();

  const ThreadIdentity who_;
  RowWait row_wait_;
  Globals globals_;
  const std::unique_ptr<ActingContext> acting_;
  THD *thd_ = nullptr;
  st_my_thread_var *mysys_ = nullptr;
  PSI_thread *psi_ = nullptr;
  sql::ShownText text_;
  bool hidden_ = false;
};

/// Whether the server has started and accepts work.
bool server_is_up();

}  // namespace postern::mariadb
