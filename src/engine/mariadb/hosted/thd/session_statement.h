// session_statement.h: SessionStatement, one statement run in a session without parsing or planning it: set-up,
// accounting and undo, as the server does them.
//
// For the thread that the session's THD is attached to (attachment.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// The size of the part of a STATUS_VAR that statements count in. The memory counters after it are left alone.
extern const size_t counted_status_bytes;

/// A flag in the server's status at the end of a statement: it has scanned the whole table, as it does with a small
/// one. A plan gains little then, and rows may have come in another order.
inline constexpr uint16_t without_index = SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED;
inline constexpr const char *words_of_no_index = "the server looks at every row of the table instead of using an index";

/// A command in a session, with the server's steps at its beginning (time, query id, no warnings) and end; then the
/// session is idle again. All commands that are answered in place of the server have one.
class SessionCommand {
 public:
  /// `began_us`: when it has begun, by microsecond_interval_timer(); 0: now.
  SessionCommand(THD *thd, enum_server_command command, uint64_t began_us = 0);
  ~SessionCommand() { end(); }
  SessionCommand(const SessionCommand &) = delete;
  SessionCommand &operator=(const SessionCommand &) = delete;

  /// Ends it early; nothing more may be done in it.
  void end();

 private:
  THD *thd_;  // nullptr once it has ended
};

/// Counts a statement that changes rows as the server does.
void count_change(THD *thd, enum_sql_command command, bool prepared, size_t bytes_received);

/// A table's names as in the server's caches. Both arguments outlive it.
struct TableNames {
  TableNames(const std::string &database_name, const std::string &name);

  const std::string *database;
  const std::string *table;

 private:
  std::string lowered_[2];
};

/// Opens the table while `look` runs, in an idle session; does not change the session otherwise, and does not wait.
/// False: it cannot be opened now.
bool look_at_table(THD *thd, const TableNames &names, const std::function<void(TABLE &)> &look);

/// Whether that name is a view's, which cannot be opened here.
bool is_view(THD *thd, const TableNames &names);

/// Closes the tables of such a session, and releases the metadata locks taken since.
void close_and_unlock(THD *thd, const MDL_savepoint &locks_before);

/// undo() takes back everything that a statement has counted and changed in its session, so that the server can run it
/// afresh. Call one of done() and undo(), and nothing after it.
class SessionStatement {
 public:
  /// Begins the statement: time, query id, no warnings. `command`: for the storage engine.
  SessionStatement(THD *thd, bool prepared, enum_sql_command command = SQLCOM_SELECT);
  SessionStatement(const SessionStatement &) = delete;
  SessionStatement &operator=(const SessionStatement &) = delete;

  /// Opens and locks the table, by the list's lock type and with its metadata lock, without waiting. False: it is held,
  /// or cannot be opened.
  bool open(TABLE_LIST &list);
  /// Locks a table that stays open in another THD (HomeThd) until the statement ends, and takes that metadata lock,
  /// too, if the session's transaction goes on. False: the table is held.
  bool borrow(TABLE &table, const MDL_ticket &ticket);
  /// Ends the statement, and its transaction under autocommit. False: that has failed; call undo().
  bool commit();
  /// Counts as the server would. `sent`: rows in the answer; `found`: the new FOUND_ROWS().
  void done(uint64_t examined, uint64_t sent, uint64_t found, size_t bytes_received, size_t bytes_sent);
  /// The same for a change, with or without success: send_end() has answered.
  void done_changing(size_t bytes_received);
  void undo();
  /// Undoes the changes of a statement that fails with the error in the diagnostics area. done_changing() must follow.
  void take_back();
  /// Rolls back the session's whole transaction, as the storage engine has done, for the reason in the diagnostics
  /// area. done_changing() must follow.
  void lose();

 private:
  void close_tables();
  void give_back();

  THD *const thd_;
  std::optional<SessionCommand> running_;
  const MDL_savepoint locks_before_;
  const bool prepared_;
  const enum_sql_command command_;
  const uint isolation_;
  const bool read_only_;
  TABLE *borrowed_ = nullptr;
  THD *owner_ = nullptr;  // of that
  // The counters that opening, locking and reading change.
  STATUS_VAR before_;
};

}  // namespace postern::mariadb
