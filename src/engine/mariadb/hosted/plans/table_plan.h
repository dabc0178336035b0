// table_plan.h: TablePlan, the base of plans of all kinds: each is of one table, learns while the server serves
// statements of its form, and answers as long as the table has the definition that it was learnt for.
//
// An answer belongs to a definition of the table and to a shape (AnswerShape). It is true only if the table had one
// definition from before the server began until after it was done: so the definition is noted when a statement has been
// served (version()), and an answer is learnt where the next one to be served finds it again.
#pragma once

#include <optional>
#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/mariadb/hosted/recognise/read_form.h"
#include "engine/sql/prepare_answer.h"

class THD;

namespace postern::mariadb {

/// A list that is only added to, by any thread and without blocking, and lives as long as its owner. `One` has a member
/// `next`.
template <class One>
class NewestFirst {
 public:
  NewestFirst() = default;
  ~NewestFirst() {
    for (One *one = first_.load(std::memory_order_acquire); one != nullptr;) {
      One *const next = one->next;
      delete one;
      one = next;
    }
  }
  NewestFirst(const NewestFirst &) = delete;
  NewestFirst &operator=(const NewestFirst &) = delete;

  const One *first() const { return first_.load(std::memory_order_acquire); }
  /// `added` is the list's from here on.
  void push(One *added) {
    added->next = first_.load(std::memory_order_acquire);
    while (!first_.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<One *> first_{nullptr};
};

/// Shared by threads; nothing in it blocks. Everything learnt lives as long as the plan.
class TablePlan : public Plan {
 public:
  bool holds() const override { return off_.load(std::memory_order_relaxed) == nullptr; }

  /// The table, and which rows of it.
  virtual const ReadForm &rows() const = 0;
  /// Whether the account of `thd` has the plan's rights, as far as that is known without the table. Where it does not,
  /// an error may be set.
  virtual bool is_granted(THD *thd) const = 0;
  /// The definition of the table that was found last, TABLE_SHARE::get_table_ref_version(); 0: none was.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// The server's answer to PREPARE of such a statement, and its notes on that; nullptr: not known.
  struct Prepared {
    AnswerShape shape;
    sql::PrepareAnswer answer;
    DeferredStatement deferred;
    Prepared *next = nullptr;
  };
  const Prepared *prepared(THD *thd) const;
  /// After the server has answered PREPARE of the statement. `before`: version() as it was before that; `columns`: its
  /// note for the statement then.
  void learn_prepared(THD *thd, Bytes answer, uint64_t before, const ClientMetadata &columns) const;

  /// Counts a statement that was left to the server, with the reason.
  void note_left(NotNow why) const {
    left_.fetch_add(1, std::memory_order_relaxed);
    left_for_.store(why, std::memory_order_relaxed);
  }
  /// Nothing was learnt from the server's answer; `why` in words, a literal.
  void note_unlearnt(const char *why) const { unlearnt_.store(why, std::memory_order_relaxed); }
  /// It answers nothing any more; `why` in words, a literal.
  void switch_off(const char *why) const { off_.store(why, std::memory_order_relaxed); }

 protected:
  void note_version(uint64_t version) const { version_.store(version, std::memory_order_release); }
  /// Whether there is room to learn one more; else the plan is off.
  bool may_learn() const;
  /// Why it is off; empty: it is not.
  std::string_view off() const;
  /// Adds the facts that plans of all kinds have, once it is known whether it answers.
  void add_facts(PlanFacts &facts) const;

 private:
  mutable std::atomic<uint64_t> version_{0};
  mutable NewestFirst<Prepared> prepared_;
  mutable std::atomic<uint32_t> known_count_{0};
  mutable std::atomic<const char *> off_{nullptr};
  mutable std::atomic<const char *> unlearnt_{nullptr};
  mutable std::atomic<uint64_t> left_{0};
  mutable std::atomic<std::optional<NotNow>> left_for_{};
};

}  // namespace postern::mariadb
