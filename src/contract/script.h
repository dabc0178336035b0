// script.h: Script, a transaction whose ops are not all known before it begins.
#pragma once

#include <cstdint>
#include <span>

#include "contract/op.h"

namespace postern {

/// Steps of one transaction, each told when the one before is done: an executor asks for them on its thread, and goes
/// on until the script is over. A failed step is no end: the script has heard of it by its replies and says what is
/// next.
///
/// Pure, as an edit is: what is lost, or left for later, begins anew. Its ops act for the identity of the script's op,
/// which the executor sets, and live until the next step. Lives in the batch's arena or in its session, so that it
/// needs no destructor here.
///
/// Steps that wait for each other's rows in another order deadlock, and one script is run again: lock what will be
/// written first, and write in few steps.
class Script {
 public:
  /// What a script wants next.
  struct Step {
    enum class What : uint8_t {
      run,     ///< `ops`, together: if one fails nothing of the step is in the table, and all its replies hear that
      mark,    ///< the place that `back` goes back to, in place of any before
      back,    ///< nothing of what was done since the mark is in the table; rows that were locked since may stay locked
      commit,  ///< the script is over
      undo,    ///< the script is over, and nothing of it is in the table
    };
    What what = What::commit;
    std::span<Op> ops{};  ///< run: finds, locks, inserts, edits and answers
  };

  /// Whether it is so little that it may share a worker's turn, and its transaction, with what others ask: a few steps
  /// of a few rows each. A turn bounds it as it bounds a find; what was too much for it is run again alone.
  virtual bool suits_turn() const { return false; }
  /// Whether its ops are finds and answers alone, which then read one view. Otherwise each step reads what is there
  /// when it begins.
  virtual bool reads_only() const { return false; }
  /// The first step. Forgets all that was heard in an earlier run. May throw std::bad_alloc, as next() may.
  virtual Step begin() = 0;
  /// The next one. The replies of the step before have all heard done().
  virtual Step next() = 0;

 protected:
  ~Script() = default;
};

}  // namespace postern
