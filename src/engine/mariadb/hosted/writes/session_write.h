// session_write.h: SessionWriter, which runs a recognised UPDATE, DELETE or INSERT in the client's own transaction, as
// the server would: with its metadata locks, row locks and binary log.
//
// It never waits. A statement that meets a locked row is left to the server, on a thread of the pool; a failed
// statement is undone as the server undoes it, and the transaction goes on.
#pragma once

#include <optional>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/output.h"
#include "contract/value.h"
#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/writes/change_row.h"
#include "engine/mariadb/hosted/thd/not_now.h"

class THD;

namespace postern::mariadb {

class SessionStatement;

struct SessionWrite {
  const ChangeForm &form;
  const ResolvedChange &change;
  const sql::Answer *answer = nullptr;  ///< the server's answer to a statement of this form with RETURNING
  uint64_t table_version;               ///< TABLE_SHARE::get_table_ref_version() for which `change` is valid
  std::span<const Value> values;
  bool prepared = false;
  size_t bytes_received = 0;
};

/// Kept by a thread from one statement to the next, for its memory.
class SessionWriter {
 public:
  /// Runs the statement in `thd`, which the thread is attached to and which is in a transaction. If it returns a reason
  /// nothing has happened, and nothing is written to `output`.
  std::optional<NotNow> run(THD *thd, const SessionWrite &write, Output &output, Counters &counters);

 private:
  std::optional<NotNow> change(THD *thd, const SessionWrite &write, SessionStatement &statement, WriteTable &target,
                               Changed &changed);

  ChangeRow row_;
};

}  // namespace postern::mariadb
