#include "engine/server/server.h"

#include "engine/rows/walk.h"

#include <algorithm>

namespace postern::rows {

Failure Walk::begin(THD *thd, OpenTable &table, const Find &find) {
  thd_ = thd;
  table_ = &table;
  find_ = &find;
  walked_ = {.to_skip = find.offset};
  keys_ = std::max<size_t>(find.in_list.size(), 1);
  limit_ = find.limit;
  all_done_ = false;
  if (const Failure failure = check_index(table, find); failure != Failure::none) return failure;
  if (!find.in_list.empty() && find.in_part >= find.key.size()) return Failure::too_many_key_parts;
  bounded_ = Bounds::needed(find);
  if (bounded_) {
    if (const Failure failure = wrong_ends(find); failure != Failure::none) return failure;
    if (const Failure failure = Bounds::check(table, find); failure != Failure::none) return failure;
  }
  if (find.filters.empty() && filters_.none()) return Failure::none;
  return filters_.prepare(thd, table, find.filters);
}

bool Walk::is_asked_for() {
  if (table_->has_history() && !table_->row_is_current()) return false;
  if (start_.recheck && !row_matches(*table_, start_, find_->key, find_->in_part, in_value())) return false;
  if (!bounded_) return true;
  const Bounds::Verdict verdict = bounds_.judge();
  if (verdict == Bounds::Verdict::beyond) end();
  return verdict == Bounds::Verdict::within;
}

}  // namespace postern::rows
