// session_write.h: SessionWriter, a recognised UPDATE, DELETE or INSERT done in the transaction of the session that
// asks, as the server would do it there: with its metadata locks, its row locks and its binary log.
//
// Nothing waits. A row that somebody else has locked is the server's to wait for, on a thread of the pool; what fails
// is undone to where the statement began, as the server undoes a statement, and the transaction goes on.
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
  const sql::Answer *answer = nullptr;  ///< the server's to a statement of this form with RETURNING
  uint64_t table_version;               ///< TABLE_SHARE::get_table_ref_version() that `change` is of
  std::span<const Value> values;
  bool prepared = false;
  size_t bytes_received = 0;
};

/// Kept by a thread from one statement to the next, for its memory.
class SessionWriter {
 public:
  /// Does it in `thd`, which the thread is attached to and which is in a transaction. If it returns a reason nothing
  /// has happened, and nothing is written to `output`.
  std::optional<NotNow> run(THD *thd, const SessionWrite &write, Output &output, Counters &counters);

 private:
  std::optional<NotNow> change(THD *thd, const SessionWrite &write, SessionStatement &statement, WriteTable &target,
                               Changed &changed);

  ChangeRow row_;
};

}  // namespace postern::mariadb
