// change_answer.h: the server's checks before, and its answers after, an UPDATE, DELETE, INSERT or REPLACE that a
// worker runs.
//
// For the thread that the session's THD is attached to (attachment.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/output.h"
#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/writes/returned_rows.h"
#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// What the server counts of a statement's reads by an index.
struct RowReads {
  uint64_t keys = 0;
  uint64_t firsts = 0;
  uint64_t nexts = 0;
  uint64_t rows = 0;
};

/// The effect of a statement.
struct Changed {
  uint64_t examined = 0;  ///< rows that an UPDATE or a DELETE has compared
  uint64_t found = 0;     ///< among these
  uint64_t changed = 0;   ///< or deleted, or new
  bool wrote = false;     ///< whether a row has changed
  RowReads reads{};       ///< by an UPDATE or a DELETE

  // For an INSERT or a REPLACE.
  uint64_t duplicates = 0;          ///< existing rows, except ignored ones
  uint64_t replaced = 0;            ///< among these: changed, or deleted
  uint64_t insert_id = 0;           ///< the first one generated
  uint64_t last_id = 0;             ///< the last row's
  std::optional<uint64_t> told_id;  ///< to LAST_INSERT_ID(id)
  struct PassedOver {
    uint64_t row;  ///< counted from 1
    std::string why;
  };
  std::vector<PassedOver> passed_over;
  // Calls to the storage engine.
  uint64_t writes = 0;
  uint64_t updates = 0;
  uint64_t deletes = 0;

  ReturnedRows returned{};
};

/// Adds the rows to the door's counters.
void count_rows(Counters &counters, const ChangeForm &form, const Changed &changed);

/// Whether the session's account may do that, checked as in the server: for changed columns, and for those that are
/// read or returned.
bool may_change(THD *thd, const ChangeForm &form);

/// Whether the statement's only warnings are notes about rounded values.
bool has_only_notes(THD *thd);

enum_sql_command command_of(const ChangeForm &form);

/// Notes that LAST_INSERT_ID(id) was evaluated, even if its row was refused afterwards.
void note_told_id(THD *thd, const Changed &changed);

/// Sets the server's OK at the end of such a statement, as mysql_update(), mysql_delete() and mysql_insert() do, with
/// LAST_INSERT_ID() and ROW_COUNT().
void say_ok(THD *thd, const ChangeForm &form, const Changed &changed);

/// Writes the session's OK or error at the end of the statement, after the rows of RETURNING. `status`: the session's
/// while it ran.
void send_answer(THD *thd, const ChangeForm &form, const ReturnedRows &rows, uint16_t status, Output &output);

}  // namespace postern::mariadb
