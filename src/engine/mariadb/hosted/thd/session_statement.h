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

/// The size of the part of a STATUS_VAR that a statement counts in. After it comes the memory it uses, which is as it
/// is.
extern const size_t counted_status_bytes;

/// In the server's status at the end of a statement: it has looked at every row of the table, as it does with a small
/// one. Then little is won by a plan, and rows may have come in another order.
inline constexpr uint16_t without_index = SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED;
inline constexpr const char *words_of_no_index = "the server looks at every row of the table instead of using an index";

/// A command in a session, which the server would begin so (its time, its number, no warnings) and end so; then the
/// session rests again. All commands that are answered in place of the server have one.
class SessionCommand {
 public:
  /// `began_us`: when it has begun, by microsecond_interval_timer(); 0: now.
  SessionCommand(THD *thd, enum_server_command command, uint64_t began_us = 0);
  ~SessionCommand() { end(); }
  SessionCommand(const SessionCommand &) = delete;
  SessionCommand &operator=(const SessionCommand &) = delete;

  /// At once; nothing more may be done in it.
  void end();

 private:
  THD *thd_;  // nullptr: it has ended
};

/// Counts a statement that changes rows as the server does.
void count_change(THD *thd, enum_sql_command command, bool prepared, size_t bytes_received);

/// The names of a table as they are in the server's caches. Both arguments outlive it.
struct TableNames {
  TableNames(const std::string &database_name, const std::string &name);

  const std::string *database;
  const std::string *table;

 private:
  std::string lowered_[2];
};

/// Opens the table for as long as `look` takes, in a session that rests between two commands; nothing else changes in
/// the session, and nothing waits. False: it cannot be opened just now.
bool look_at_table(THD *thd, const TableNames &names, const std::function<void(TABLE &)> &look);

/// Whether that name is a view's, which cannot be opened so.
bool is_view(THD *thd, const TableNames &names);

/// Closes the tables of such a session, and gives up the metadata locks that it did not have then.
void close_and_unlock(THD *thd, const MDL_savepoint &locks_before);

/// undo() takes back everything that a statement has counted and changed in its session, so that the server can run it
/// as if nothing had been. One of done() and undo() is called, and nothing after it.
class SessionStatement {
 public:
  /// The statement begins: its time, its number, no warnings. `command`: for the storage engine.
  SessionStatement(THD *thd, bool prepared, enum_sql_command command = SQLCOM_SELECT);
  SessionStatement(const SessionStatement &) = delete;
  SessionStatement &operator=(const SessionStatement &) = delete;

  /// Opens the table and locks it as the list's lock says, with its metadata lock, without waiting. False: it is held,
  /// or cannot be opened.
  bool open(TABLE_LIST &list);
  /// Ends the statement within its transaction, or with it. False: that has failed; undo() is still to come.
  bool commit();
  /// Counts as the server would have counted. `sent`: rows in the answer; `found`: FOUND_ROWS() from here on.
  void done(uint64_t examined, uint64_t sent, uint64_t found, size_t bytes_received, size_t bytes_sent);
  /// The same of one that has changed rows, or was to: send_end() has answered.
  void done_changing(size_t bytes_received);
  void undo();
  /// Undoes the statement's changes: it fails, and the diagnostics area says why. done_changing() must follow.
  void take_back();
  /// The storage engine has rolled back the session's whole transaction, and the diagnostics area says why: so does the
  /// server. To be followed by done_changing().
  void lose();

 private:
  void close_tables();

  THD *const thd_;
  std::optional<SessionCommand> running_;
  const MDL_savepoint locks_before_;
  const bool prepared_;
  const enum_sql_command command_;
  const uint isolation_;
  const bool read_only_;
  // The counters that opening, locking and reading change.
  STATUS_VAR before_;
};

}  // namespace postern::mariadb
