// reply.h: Reply, which receives the outcome of an op.
#pragma once

#include <cstdint>
#include <span>

#include "base/failure.h"
#include "base/output.h"
#include "contract/shape.h"
#include "contract/sql_error.h"
#include "contract/value.h"

namespace postern {

/// The outcome of an op. `message` borrows from the engine and dies when Reply::done() returns.
struct Outcome {
  Failure failure = Failure::none;
  /// The storage engine's own error number (HA_ERR_*), with Failure::engine_error.
  int32_t engine_code = 0;
  /// Columns of a row, for a find or an edit; 0 otherwise.
  uint32_t columns = 0;
  /// Rows given to Reply::row(); with Find::estimated, the estimate.
  uint64_t rows = 0;
  /// Rows that an edit changed or deleted, including rows that had the new values already. For an insert: 1 if the row
  /// is new, 2 if an existing row was updated, 0 if it was kept; OnDuplicate::decide counts every row that it writes as
  /// updated, even if it had those values already.
  uint64_t changed = 0;
  /// For an insert: whether the table has an AUTO_INCREMENT column, and its new value, 0 if the client gave one.
  bool has_insert_id = false;
  uint64_t insert_id = 0;
  /// The server's message for the failure, or empty.
  Bytes message{};
  /// The server's error number and SQLSTATE, or none: use sql_error().
  SqlError server_error{};

  /// The failure as a client of SQL sees it: the server's own error, or the one from the table of all failures.
  SqlError sql_error() const { return server_error.number != 0 ? server_error : sql_error_of(failure); }
};

/// Receives one op's rows and its outcome, on the thread that runs the batch. Lives in the batch's arena, so that it
/// needs no destructor. Contract: row() any number of times, still_wanted() between them, then done() once, or take()
/// alone; restart() comes in between if the op is run again (lost batch, slow lane).
class Reply {
 public:
  /// With Find::shape_wanted: the columns of the rows to come, in their order. Called once before the first row, or
  /// before done() if there is none, and again after restart(), because DDL may change them. A find that resumes at its
  /// position does not repeat the call: it fails if the columns have changed.
  virtual void shape([[maybe_unused]] std::span<const ColumnShape> columns) {}
  /// The next row. `pause` asks the engine to stop: the reply exceeds its bound. An op with a position stops after this
  /// row, one without starts anew in the slow lane; an edit counts the row as not given.
  virtual Flow row(Row row) = 0;
  /// Slow lane only: called while the find goes on, whether it finds rows or not; each row will have so many columns.
  /// `pause` asks the engine to stop where it is: the client is gone, or other jobs wait for the thread.
  virtual Flow still_wanted([[maybe_unused]] uint32_t columns) { return Flow::more; }
  virtual void done(const Outcome &outcome) = 0;
  /// Called right after done(): the reply's bytes, if they answer every equal op of the run, on any connection; else
  /// empty. Valid until the output is touched.
  virtual Bytes written() const { return {}; }
  /// Answers with the bytes of another reply's written(), in place of row() and done(). False: it cannot at present,
  /// has written nothing, and needs row() and done().
  virtual bool take([[maybe_unused]] Bytes written) { return false; }
  /// Forgets everything: the op starts from its first row again.
  virtual void restart() = 0;

 protected:
  ~Reply() = default;
};

}  // namespace postern
