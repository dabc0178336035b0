// session_read.h: SessionReader, with which a thread answers recognised SELECTs in the clients' sessions.
//
// The read is made in the client's own session: its transaction and read view, isolation, time zone, account and
// metadata locks. The rows are written by the server's own protocol code, between the head and the end of a captured
// answer (engine/sql/packets/answer.h). It never sends an error: any other result than rows or no rows is undone, and
// the server answers.
#pragma once

#include <optional>
#include <cstdint>
#include <span>

#include "base/output.h"
#include "contract/value.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/reads/key_walk.h"
#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/sql/packets/answer.h"

class THD;
class Protocol;
struct TABLE;
struct TABLE_LIST;

namespace postern::mariadb {

class KeptTable;
class ReadTables;

/// Whether the account of `thd` may read any table of the database, as the first checks of check_access() tell: global
/// privileges, and those on the session's database, known since USE. If not, it may have rights of another kind.
bool may_read_database(const THD *thd, Bytes database);

/// One statement to answer; borrows everything.
struct SessionRead {
  uint64_t id = 0;  ///< the form's
  const ReadForm &form;
  const ResolvedRead &read;
  /// The table definition of the resolved form and the answer: TABLE_SHARE::get_table_ref_version().
  uint64_t table_version = 0;
  const sql::Answer &answer;  ///< the server's answer to a statement of this form
  std::span<const Value> values;
  bool prepared = false;      ///< COM_STMT_EXECUTE, with rows in binary form
  size_t bytes_received = 0;  ///< counted for the command, as the server does
};

/// Owned by one thread. Not reentrant.
class SessionReader {
 public:
  /// Answers the statement in `thd`, which is idle and attached to the calling thread (attachment.h). If it returns a
  /// reason, nothing is written to `output`, and the session is unchanged. Never waits for a lock. The caller has
  /// checked session_allows(). `tables`: the worker's; nullptr: it has none, or may not keep this one (may_be_kept()).
  std::optional<NotNow> run(THD *thd, const SessionRead &read, ReadTables *tables, Output &output);

  /// Whether the account of `thd` may read the form's columns, as far as that is known without the table. `list` is its
  /// table; if not, an error may be set.
  static bool may_read(THD *thd, TABLE_LIST &list, const ReadForm &form);

 private:
  struct Limits {
    uint64_t offset = 0;
    uint64_t rows = UINT64_MAX;
  };
  struct Written {
    uint64_t found = 0;    // matching rows, as far as they were read
    uint64_t skipped = 0;  // by OFFSET
    uint64_t sent = 0;
  };

  static bool take_limits(const SessionRead &read, Limits &limits);
  static void choose_columns(TABLE &table, const SessionRead &read);
  std::optional<NotNow> read_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                  Written &written);
  std::optional<NotNow> write_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                   Written &written);
  std::optional<NotNow> count_rows(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets,
                                   Written &written);
  static bool write_row(THD *thd, TABLE &table, const SessionRead &read, sql::Packets &packets);

  KeyWalk walk_;
  Limits limits_;  // the running statement's
};

}  // namespace postern::mariadb
