// session_read.h: SessionReader, a thread's way to answer recognised SELECTs on the sessions that ask for them.
//
// The read is made in the client's own session: its transaction and read view, isolation, time zone, account and
// metadata locks. The rows are written by the server's own protocol code, between the head and the end of a captured
// answer (engine/sql/packets/answer.h). No error is ever made here: any other result than rows or no rows is undone,
// and the server answers.
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

/// One statement to be answered; borrows everything.
struct SessionRead {
  const ReadForm &form;
  const ResolvedRead &read;
  /// The definition that the form was resolved with and the answer is from: TABLE_SHARE::get_table_ref_version().
  uint64_t table_version = 0;
  const sql::Answer &answer;  ///< the server's to a statement of this form
  std::span<const Value> values;
  bool prepared = false;      ///< COM_STMT_EXECUTE, and so rows in binary form
  size_t bytes_received = 0;  ///< the command's, as the server counts them
};

/// One thread's. Not to be used from within itself.
class SessionReader {
 public:
  /// Answers the statement in `thd`, which the calling thread is attached to (attachment.h) and which rests between two
  /// commands. If it returns a reason, nothing is written to `output`, and the session is as it was. Never waits for a
  /// lock. The caller has asked session_allows().
  std::optional<NotNow> run(THD *thd, const SessionRead &read, Output &output);

  /// Whether the account of `thd` may read the form's columns, as far as that is known without the table. `list` is its
  /// table; where it may not, an error may be set.
  static bool may_read(THD *thd, TABLE_LIST &list, const ReadForm &form);

 private:
  struct Limits {
    uint64_t offset = 0;
    uint64_t rows = UINT64_MAX;
  };
  struct Written {
    uint64_t found = 0;    // rows for which the conditions are true, as far as they were looked for
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
