// commit_in_turn.h: CommitInTurn, a session's COMMIT of rows that workers have changed, made in a worker's turn.
//
// The server's own code makes it. If commits wait for a flush of InnoDB's log, InnoDB commits in memory first, as for
// the binary log's groups, and the server's COMMIT then has no flush to make: the answer waits for the next flush,
// which the write lane makes for many clients (Op::unflushed).
#pragma once

#include "engine/mariadb/hosted/transaction_changes.h"

class THD;

namespace postern::mariadb {

class LockAhead;

/// For one command; used by the session's owner.
class CommitInTurn {
 public:
  /// `answer_may_wait`: see AnswerTools. `changes` outlives it.
  CommitInTurn(THD *thd, const TransactionChanges &changes, bool answer_may_wait)
      : thd_(thd), changes_(changes), answer_may_wait_(answer_may_wait) {}
  CommitInTurn(const CommitInTurn &) = delete;
  CommitInTurn &operator=(const CommitInTurn &) = delete;

  /// Whether the command is a plain COMMIT of the session that waits for nothing while `lock` lives. Called at most
  /// once.
  bool may_be_made(LockAhead &lock);
  /// Called before the server serves the command; the thread is attached.
  void begin();
  /// Whether the answer has to wait for a flush.
  bool is_unflushed() const { return unflushed_; }

 private:
  bool may_be_unflushed() const;

  THD *const thd_;
  const TransactionChanges &changes_;
  const bool answer_may_wait_;
  bool unflushed_ = false;
};

}  // namespace postern::mariadb
