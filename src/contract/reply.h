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

/// How an op ended. `message` borrows from the engine and dies when Reply::done() returns.
struct Outcome {
  Failure failure = Failure::none;
  /// The storage engine's own error number (HA_ERR_*), with Failure::engine_error.
  int32_t engine_code = 0;
  /// Columns of a row, for a find or an edit; 0 otherwise.
  uint32_t columns = 0;
  /// Rows given to Reply::row(); with Find::estimated about how many there are.
  uint64_t rows = 0;
  /// Rows an edit changed or deleted, a row that had the new values already among them. For an insert 1 if the row
  /// is new, 2 if it was there and was updated, 0 if it was there and stayed as it is; OnDuplicate::decide counts what
  /// it decided to write as updated, whether or not the row had those values already.
  uint64_t changed = 0;
  /// For an insert: whether the table has an AUTO_INCREMENT column, and its new value, 0 if the client gave one.
  bool has_insert_id = false;
  uint64_t insert_id = 0;
  /// The server's message for the failure, or empty.
  Bytes message{};
  /// The number and the state that the server gives it, or none: ask sql_error().
  SqlError server_error{};

  /// The failure as a client of SQL sees it: the server's own error, or the one from the table of all failures.
  SqlError sql_error() const { return server_error.number != 0 ? server_error : sql_error_of(failure); }
};

/// Hears one op's rows and its outcome, on the thread that runs the batch. Lives in the batch's arena, so that it
/// needs no destructor. Contract: row() any number of times, still_wanted() between them, then done() once, or take()
/// alone; an op that has to be run again (lost batch, slow lane) hears restart() in between.
class Reply {
 public:
  /// With Find::shape_wanted: the columns of the rows to come, in their order. Called once before the first row, by a
  /// find without rows before done(), and again after restart(), for DDL may change them. A find that goes on at its
  /// place does not repeat the call: it fails if the columns have changed.
  virtual void shape([[maybe_unused]] std::span<const ColumnShape> columns) {}
  /// The next row. `pause` asks the engine to stop: the reply has outgrown what may be held. An op with a position
  /// stops after this row, one without starts anew in the slow lane, and an edit has not been given the row at all.
  virtual Flow row(Row row) = 0;
  /// Slow lane only: the find of this reply goes on, whether it finds rows or not; each will have so many columns.
  /// `pause` asks the engine to stop where it is: nobody is left to hear, or others wait for their turn.
  virtual Flow still_wanted([[maybe_unused]] uint32_t columns) { return Flow::more; }
  virtual void done(const Outcome &outcome) = 0;
  /// To be asked right after done(): the reply's bytes, if another op of the run that asks the same, of whatever
  /// connection, would be answered with just these; else empty. Valid until the output is touched.
  virtual Bytes written() const { return {}; }
  /// Answers with what `written()` of another reply was, instead of hearing rows and outcome. False: it cannot just
  /// now, has written nothing and must hear them.
  virtual bool take([[maybe_unused]] Bytes written) { return false; }
  /// Forget everything: the op starts from its first row again.
  virtual void restart() = 0;

 protected:
  ~Reply() = default;
};

}  // namespace postern
