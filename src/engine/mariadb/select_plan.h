// select_plan.h: SelectPlan, how SELECTs of one form are answered on the sessions that ask: what they mean, and, learnt
// while the server serves the first of them, where that is in the table and how answers to them look.
//
// What is learnt belongs to a definition of the table and to a way of answering (AnswerShape). It is true only if the
// table had one definition from before the server began until after it was done: so the definition is noted when a
// statement has been served (version()), and an answer is learnt where the next one to be served finds it again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/answer_shape.h"
#include "engine/mariadb/not_now.h"
#include "engine/mariadb/own_read.h"
#include "engine/mariadb/plan_learning.h"
#include "engine/mariadb/promised.h"
#include "engine/mariadb/read_plan.h"
#include "engine/mariadb/why_not.h"
#include "engine/sql/answer.h"
#include "engine/sql/prepare_answer.h"

class THD;

namespace postern::mariadb {

/// Shared by threads; nothing in it blocks. What it has learnt lives as long as the plan.
class SelectPlan final : public Plan {
 public:
  explicit SelectPlan(ReadPlan plan) : plan_(std::move(plan)) {}

  uint32_t values() const override { return plan_.arguments; }
  bool holds() const override { return off_.load(std::memory_order_relaxed) == nullptr; }
  PlanFacts facts() const override;

  const ReadPlan &read() const { return plan_; }

  /// Answers the statement in `thd`, as OwnReads::run() does. `columns`: what its client has been told of them before,
  /// and is then; nullptr: it is told them each time.
  NotNow answer(THD *thd, OwnReads &reads, const Statement &statement, Output &output, ColumnsTold *columns) const;

  /// What the server tells of such a statement when it is prepared, and notes of that; nullptr: not known.
  struct Told {
    AnswerShape shape;
    sql::PrepareAnswer answer;
    Promised promised;
    Told *next = nullptr;
  };
  const Told *told(THD *thd) const;

  /// The definition of the table that was found last; 0: none was.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Looks at the table, so that version() is known. Opens it in `thd`, which rests between two commands.
  /// WhyNot::planned also where the table is not to be had just now.
  WhyNot look(THD *thd) const;
  /// After the server has given `answer` to a statement. `before`: version() as it was before that; `columns`: what it
  /// has noted of a prepared one then.
  void learn(THD *thd, bool prepared, Bytes answer, uint64_t before, const ColumnsTold &columns) const;
  /// The same of the statement's being prepared.
  void learn_told(THD *thd, Bytes answer, uint64_t before, const ColumnsTold &columns) const;
  /// It answers nothing any more; `why` in words, a literal.
  void switch_off(const char *why) const { off_.store(why, std::memory_order_relaxed); }

 private:
  struct Known {
    AnswerShape shape;
    uint64_t version;
    ResolvedRead read;
    sql::Answer answer;
    std::string index;
    ColumnsTold columns;  // afterwards
    Known *next = nullptr;
  };

  const Known *find(const AnswerShape &shape) const;
  /// Whether there is room for one more of what is learnt.
  bool may_learn() const;

  const ReadPlan plan_;
  mutable std::atomic<uint64_t> version_{0};
  mutable NewestFirst<Known> known_;
  mutable NewestFirst<Told> told_;
  mutable std::atomic<uint32_t> known_count_{0};
  mutable std::atomic<const char *> off_{nullptr};
};

}  // namespace postern::mariadb
