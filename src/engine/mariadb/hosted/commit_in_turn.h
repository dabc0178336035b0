// commit_in_turn.h: CommitInTurn, a session's COMMIT of rows that workers have changed, made in a worker's turn.
//
// The server's own code makes it. Where commits wait for a flush of InnoDB's log, InnoDB makes it in memory first, as
// it does for the binary log's groups, and the server's COMMIT then finds no flush to make: the answer waits for the
// next one, which others make for many (Op::unflushed).
#pragma once

#include "engine/mariadb/hosted/transaction_changes.h"

class THD;

namespace postern::mariadb {

class LockAhead;

/// Of one command; for the session's owner.
class CommitInTurn {
 public:
  /// `answer_may_wait`: as AnswerTools says. `changes` outlives it.
  CommitInTurn(THD *thd, const TransactionChanges &changes, bool answer_may_wait)
      : thd_(thd), changes_(changes), answer_may_wait_(answer_may_wait) {}
  CommitInTurn(const CommitInTurn &) = delete;
  CommitInTurn &operator=(const CommitInTurn &) = delete;

  /// Whether the session's COMMIT, with which nothing more is asked of it, waits for nothing while `lock` lives; the
  /// command is one then. At most once.
  bool may_be_made(LockAhead &lock);
  /// Before the server serves the command; the thread is attached.
  void begin();
  /// The answer has to wait for a flush.
  bool is_unflushed() const { return unflushed_; }

 private:
  bool may_be_unflushed() const;

  THD *const thd_;
  const TransactionChanges &changes_;
  const bool answer_may_wait_;
  bool unflushed_ = false;
};

}  // namespace postern::mariadb
