// script.h: Script, a transaction that chooses its ops step by step.
#pragma once

#include <cstdint>
#include <span>

#include "contract/op.h"

namespace postern {

/// The steps of one transaction: an executor asks for each on its thread when the one before is done, until the script
/// is over. A failed step does not end it: the script learns of the failure from its replies and chooses the next step.
///
/// Pure, as an edit is: a script that was lost, or left for later, begins anew. The executor gives its ops the identity
/// of the script's op; internal ops have none. Ops live until the next step. A script lives in the batch's arena or in
/// its session, so it needs no destructor here.
///
/// Two scripts that lock the same rows in different orders deadlock, and one of them is run again: lock first the rows
/// that will be written, and write in few steps.
class Script {
 public:
  /// How deeply nested scripts may set marks.
  static constexpr uint8_t depths = 2;
  /// A script's next step.
  struct Step {
    enum class What : uint8_t {
      run,     ///< `ops`, together: if one fails the whole step is undone, and all its replies hear the failure
      mark,    ///< sets the mark that `back` returns to; replaces an earlier one
      back,    ///< undoes everything since the mark; rows that were locked since may stay locked
      commit,  ///< the script is over
      undo,    ///< the script is over, and all of it is undone
      alone,   ///< too much for a turn: the script begins anew in Lane::alone, where this step does nothing
    };
    What what = What::commit;
    std::span<Op> ops{};  ///< run: finds, locks, inserts, edits and answers; or opens alone
    bool last = false;    ///< run: unless an op of the step fails, the script commits next
    /// mark, back: scripts within a script each have marks of their own. Going back to a mark forgets the deeper ones.
    uint8_t depth = 0;
  };

  /// Whether it is short enough to share a worker's turn, and its transaction, with other requests: a few steps of a
  /// few rows each. A turn bounds it as it bounds a find; a script that exceeds the bound is run again alone.
  virtual bool suits_turn() const { return false; }
  /// Whether it may compute for seconds between two steps, as a client's program may. In Lane::alone such scripts run
  /// on threads of their own and hold up no other request.
  virtual bool may_last() const { return false; }
  /// Whether all its ops are finds and answers; they then share one read view. Otherwise each step opens a new view.
  virtual bool reads_only() const { return false; }
  /// Which other scripts' steps may share a statement with its first step, if it has only one. If that statement fails,
  /// each script is run again by itself.
  enum class Joins : uint8_t {
    none,
    other_connections,  ///< it answers step by step: it begins after its connection's earlier scripts
    all,                ///< it answers at its end
  };
  virtual Joins joins() const { return Joins::none; }
  /// The first step. Forgets the results of an earlier run. May throw std::bad_alloc, as next() may.
  virtual Step begin() = 0;
  /// The next one. The replies of the step before have all heard done().
  virtual Step next() = 0;

 protected:
  ~Script() = default;
};

}  // namespace postern
