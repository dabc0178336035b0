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

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/not_now.h"
#include "engine/mariadb/own_read.h"
#include "engine/mariadb/read_plan.h"
#include "engine/mariadb/why_not.h"
#include "engine/sql/answer.h"

class THD;
struct charset_info_st;

namespace postern::mariadb {

/// What the bytes around the rows depend on besides the statement.
struct AnswerShape {
  AnswerShape(const THD *thd, bool is_prepared);

  const charset_info_st *results = nullptr;  ///< the character set that answers are converted to; nullptr: none
  sql::AnswerForm form;
  bool prepared = false;

  bool operator==(const AnswerShape &) const = default;
};

/// Shared by threads; nothing in it blocks. What it has learnt lives as long as the plan.
class SelectPlan final : public Plan {
 public:
  enum class Names : uint8_t {
    looked_up,  ///< mean what the table has by these names, whatever becomes of it
    bound,      ///< were those of one definition of the table (SELECT *, prepared), and mean nothing in another
  };
  explicit SelectPlan(ReadPlan plan, Names names = Names::looked_up) : plan_(std::move(plan)), names_(names) {}
  ~SelectPlan() override;

  uint32_t values() const override { return plan_.arguments; }
  bool holds() const override { return !off_.load(std::memory_order_relaxed); }

  const ReadPlan &read() const { return plan_; }

  /// Answers the statement in `thd`, as OwnReads::run() does.
  NotNow answer(THD *thd, OwnReads &reads, const Statement &statement, Output &output) const;

  /// The definition of the table that was found last; 0: none was.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Looks at the table, so that version() is known. Opens it in `thd`, which rests between two commands. Where the
  /// names are bound, `prepared` is the table as the prepared statement has it. WhyNot::planned also where the table is
  /// not to be had just now.
  WhyNot look(THD *thd, TABLE_LIST *prepared = nullptr) const;
  /// After the server has given `answer` to a statement. `before`: version() as it was before that.
  void learn(THD *thd, bool prepared, Bytes answer, uint64_t before) const;
  /// It has answered wrongly: it answers nothing any more.
  void switch_off() const { off_.store(true, std::memory_order_relaxed); }

 private:
  struct Known {
    AnswerShape shape;
    uint64_t version;
    ResolvedRead read;
    sql::Answer answer;
    Known *next;
  };
  static constexpr uint32_t known_max = 32;

  const Known *find(const AnswerShape &shape) const;

  const ReadPlan plan_;
  const Names names_;
  mutable std::atomic<uint64_t> version_{0};
  mutable std::atomic<Known *> known_{nullptr};  // the newest first; never taken out
  mutable std::atomic<uint32_t> known_count_{0};
  mutable std::atomic<bool> off_{false};
};

}  // namespace postern::mariadb
