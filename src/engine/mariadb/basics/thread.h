// thread.h: ServerThread, a door's thread in the server: its THD, and its wake-up on KILL.
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

/// The user that the process list shows for doors' threads. Lives forever.
extern const char *const thread_user;

/// Owned, used and destroyed by its thread, which may change. While it lives the server counts the thread, shows it in
/// the process list and waits for it at shutdown.
class ServerThread {
 public:
  /// Waits until the server accepts work. nullptr if it goes down, `stop` becomes true or there is no memory.
  static std::unique_ptr<ServerThread> enter(const ThreadIdentity &who, const std::atomic<bool> &stop);
  ~ServerThread();
  ServerThread(const ServerThread &) = delete;
  ServerThread &operator=(const ServerThread &) = delete;

  THD *thd() const { return thd_; }
  RowWait &row_wait() { return row_wait_; }

  /// Detaches the calling thread; the thread that calls enter_again() becomes this one's thread.
  void leave();
  void enter_again();

  /// KILL has ended this thread's connection; it needs a new THD before it continues.
  bool killed() const;
  /// The server is going down.
  bool server_stopping() const;
  /// Whether there is probably memory for another THD, which renew() needs.
  static bool has_room_to_renew();
  /// Replaces the THD, which must hold no table, by a new one. False if the server is going down.
  bool renew();

  /// The global variables as the THD has them.
  Globals &globals() { return globals_; }
  /// Makes the THD ready for a statement that writes; end_writing() follows when its tables are closed. `locks_places`:
  /// locking reads lock gaps, too.
  void begin_writing(bool locks_places);
  void end_writing();
  /// The server's current innodb_lock_wait_timeout, in milliseconds.
  int64_t row_wait_ms() const;

  /// For acting as an account with thd().
  ActingContext &acting() { return *acting_; }

  /// Sets the text for the process list, which shows the thread from now on.
  void describe(Bytes text);
  /// Shows it again, after the server has shown its own text.
  void show_text();
  /// Hides the thread from the process list until show(). KILL still finds it, and the server counts it. It must not
  /// write meanwhile.
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
