// prepared_answers.h: PreparedAnswers, the server's answers to PREPARE of a plan's statements, and its notes on them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "engine/mariadb/hosted/plans/newest_first.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/sql/packets/prepare_answer.h"

class THD;

namespace postern::mariadb {

class StatementPlan;

struct PreparedAnswer {
  AnswerShape shape;
  sql::PrepareAnswer answer;
  DeferredStatement deferred;
  PreparedAnswer *next = nullptr;
};

/// Any thread; lock-free. Answers live as long as this.
class PreparedAnswers {
 public:
  /// The answer for the session with this version of the table; nullptr: unknown.
  const PreparedAnswer *find(THD *thd, uint64_t version) const;
  /// Called after the server has answered PREPARE of a statement of `plan`, which owns this. `before`: the plan's
  /// version() before that; `columns`: the server's metadata note for the statement.
  void learn(const StatementPlan &plan, THD *thd, Bytes answer, uint64_t before, const ClientMetadata &columns);

 private:
  NewestFirst<PreparedAnswer> all_;
};

}  // namespace postern::mariadb
