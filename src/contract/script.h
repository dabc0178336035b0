// script.h: Script, a transaction that chooses its ops step by step.
#pragma once

#include <cstdint>
#include <span>

#include "contract/op.h"

namespace postern {

/// The steps of one transaction: an executor asks for each on its thread when the one before is done, until the script
/// is over. A failed step is no end: the script has heard of it by its replies and chooses the next step.
///
/// Pure, as an edit is: a script that was lost, or left for later, begins anew. Its ops act for the identity of the
/// script's op, which the executor sets, and internal ones for nobody; they live until the next step. Lives in the
/// batch's arena or in its session, so that it needs no destructor here.
///
/// Steps that wait for each other's rows in another order deadlock, and one script is run again: lock what will be
/// written first, and write in few steps.
class Script {
 public:
  /// How deep scripts within scripts may set marks.
  static constexpr uint8_t depths = 2;
  /// A script's next step.
  struct Step {
    enum class What : uint8_t {
      run,     ///< `ops`, together: if one fails nothing of the step is in the table, and all its replies hear that
      mark,    ///< the place that `back` goes back to, in place of any before
      back,    ///< undoes everything since the mark; rows that were locked since may stay locked
      commit,  ///< the script is over
      undo,    ///< the script is over, and nothing of it is in the table
      alone,   ///< too much for a turn, which leaves the script, to begin anew in Lane::alone; there it does nothing
    };
    What what = What::commit;
    std::span<Op> ops{};  ///< run: finds, locks, inserts, edits and answers; or opens alone
    bool last = false;    ///< run: unless an op of the step fails, the script commits next
    /// mark, back: scripts within a script each have marks of their own. Going back to a mark forgets the deeper ones.
    uint8_t depth = 0;
  };

  /// Whether it is so short that it may share a worker's turn, and its transaction, with other requests: a few steps of
  /// a few rows each. A turn bounds it as it bounds a find; a script that exceeds the bound is run again alone.
  virtual bool suits_turn() const { return false; }
  /// Whether it may compute for seconds between two steps, as a program of a client's may. In Lane::alone it then runs
  /// on a thread for such scripts, so that other requests have theirs.
  virtual bool may_last() const { return false; }
  /// Whether its ops are finds and answers alone, which then read one view. Otherwise each step reads the rows as they
  /// are when it begins.
  virtual bool reads_only() const { return false; }
  /// Which other steps may share a statement with its first one, if that is its last. Where that fails each script
  /// begins anew, by itself.
  enum class Joins : uint8_t {
    none,
    other_connections,  ///< it answers as it goes on: it begins when its connection's earlier scripts are over
    all,                ///< it answers when it is over
  };
  virtual Joins joins() const { return Joins::none; }
  /// The first step. Forgets all that was heard in an earlier run. May throw std::bad_alloc, as next() may.
  virtual Step begin() = 0;
  /// The next one. The replies of the step before have all heard done().
  virtual Step next() = 0;

 protected:
  ~Script() = default;
};

}  // namespace postern
