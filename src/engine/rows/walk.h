// walk.h: Walk, which visits the rows of a find one by one, for finds and edits alike.
#pragma once

#include <cstdint>

#include "contract/op.h"
#include "engine/rows/bounds.h"
#include "engine/rows/cursor.h"
#include "engine/rows/filter.h"
#include "engine/rows/key.h"
#include "engine/server/table.h"
#include "engine/sql/scan_control.h"

namespace postern::rows {

/// The relation of a row to the find of the walk.
enum class Met : uint8_t {
  other,    ///< not selected: history, or a row that only shares the index key with selected ones
  skipped,  ///< selected, and left out by a filter or by the offset
  wanted,
};

using sql::Walked;

/// Walks the rows of finds, key by key: one key, or one for each value of the IN list. Belongs to one executor and is
/// used on its thread only. The caller counts examined rows, decides when to pause, and uses the rows:
///
///     if (walk.begin(thd, table, find) != Failure::none) return;
///     for (; walk.at_key(); walk.next_key()) {
///       if (!walk.open_key()) continue;
///       for (int code = walk.first_row(); code == 0; code = walk.next_row(true)) {
///         if (walk.judge() == Met::wanted) {
///           use(record[0]);
///           walk.take();
///         }
///         if (walk.key_done()) break;
///       }
///     }
class Walk {
 public:
  /// Begins a walk at the first key; `none` if the index can serve the find and its filters are valid. The find and the
  /// table must outlive the walk. Uses record[0] as scratch.
  Failure begin(THD *thd, OpenTable &table, const Find &find);
  /// Sets a limit in place of Find::limit.
  void limit_to(uint64_t rows) { limit_ = rows; }
  /// Continues where another walk of the same find stopped.
  void resume(const Walked &walked) { walked_ = walked; }
  const Walked &walked() const { return walked_; }

  /// Whether there is one more key to walk from.
  bool at_key() const { return !all_done_ && walked_.in_at < keys_; }
  void next_key() { ++walked_.in_at; }
  /// Builds the key. False if no row can match it. Uses record[0] as scratch.
  bool open_key();
  /// The key that was built.
  const KeyStart &start() const { return start_; }
  /// The key of Find::until.
  const KeyStart &far_end() const { return bounds_.far_end(); }

  // Each reads a row into record[0] and returns the storage engine's code, see cursor.h.
  int first_row() { return rows::first_row(*table_, start_); }
  int next_row(bool from_first_row) { return rows::next_row(*table_, start_, from_first_row); }

  /// Judges the row in record[0].
  Met judge() {
    if (selects_ && !is_asked_for()) return Met::other;
    key_done_ = one_row_;
    switch (filters_.judge()) {
      case Filters::Verdict::pass: break;
      case Filters::Verdict::skip: return Met::skipped;
      case Filters::Verdict::stop: end(); return Met::skipped;
    }
    if (walked_.to_skip == 0) return Met::wanted;
    --walked_.to_skip;
    return Met::skipped;
  }
  /// Counts a wanted row.
  void take() {
    if (++walked_.taken >= limit_) end();
  }
  /// Whether the key has no further rows for the find.
  bool key_done() const { return key_done_; }

  /// The find's filters, for a row that is read again in another way.
  const Filters &filters() const { return filters_; }

 private:
  const Value *in_value() const { return find_->in_list.empty() ? nullptr : &find_->in_list[walked_.in_at]; }
  bool is_asked_for();
  void end() { key_done_ = all_done_ = true; }

  THD *thd_ = nullptr;
  OpenTable *table_ = nullptr;
  const Find *find_ = nullptr;
  KeyStart start_;
  Filters filters_;
  Bounds bounds_;
  Walked walked_;
  size_t keys_ = 0;
  uint64_t limit_ = 0;
  bool bounded_ = false;  // by more than the key
  bool one_row_ = false;  // the key has no further rows
  bool selects_ = false;  // the key also leads to rows that are not selected
  bool key_done_ = false;
  bool all_done_ = false;
};

inline bool Walk::open_key() {
  key_done_ = false;
  if (!find_->prefix) {
    build_key(thd_, *table_, find_->key, find_->comparison, find_->in_part, in_value(), table_->key, start_);
    if (start_.comparison == Comparison::never) return false;
  }
  if (bounded_ && !bounds_.open(thd_, *table_, *find_, start_)) return false;
  one_row_ = leads_to_one_row(*table_, *find_, start_, in_value());
  selects_ = start_.recheck || bounded_ || table_->has_history();
  return true;
}

}  // namespace postern::rows
