#include "engine/server/server.h"

#include <algorithm>
#include <utility>

#include "engine/rows/writer.h"
#include "engine/server/failures.h"

namespace postern::rows {

/// The key of the one row that the op is on; empty: it may be on others, or has to be looked for.
std::span<const Value> Writer::key_of_row(const Op &op) const {
  std::span<const Value> key;
  if (op.verb == Verb::insert) {
    if (op.insert->on_duplicate != OnDuplicate::decide || !knows_its_row(*op.insert)) return {};
    key = op.insert->values.first(write_.table->spec->key_columns);
  } else if (op.verb == Verb::edit) {
    const Find &find = op.edit->find;
    if (find.comparison != Comparison::equal || find.prefix || find.offset != 0 || !find.in_list.empty() ||
        !find.filters.empty() || !find.until.empty())
      return {};
    key = find.key;
  }
  const bool whole = write_.table->unique && key.size() == write_.table->key_info().user_defined_key_parts;
  return whole && std::none_of(key.begin(), key.end(), [](const Value &v) { return v.is_null(); })
             ? key
             : std::span<const Value>();
}

/// The row in record[0], of which record[1] is a copy, is that of the running op. A row held in another table stays
/// held: it came first, as a key's row comes before its elements.
void Writer::hold_row() {
  if (!holding_ || row_key_.empty() || held_.table() != nullptr || !change_.may_put_off()) return;
  held_.hold(*write_.table, row_key_);
}

/// Applies the draft to the row in record[0], of which record[1] is a copy unless the row is held.
Step Writer::change_row() {
  if (held_.table() != write_.table) return change_.update();
  held_.changed = true;
  return change_.put_off();
}

/// Called when the running op needs the table's buffers for another row.
Step Writer::make_way(const OpenTable &table) {
  OpenTable *const held = held_.table();
  if (held == nullptr || held->target != table.target) return Step::good;
  held_.forget();
  if (!held_.changed) return Step::good;
  OpenTable *const running = std::exchange(write_.table, held);
  const Step step = change_.store_put_off();
  write_.table = running;
  return step;
}

/// The row that is held.
bool Writer::store(OpenTable &held) {
  storing_.verb = Verb::edit;
  write_.begin(storing_, held);
  row_wait_.watch(true);
  const Step step = make_way(held);
  row_wait_.watch(false);
  change_.end();
  row_wait_.take_expired();
  counters_->add(Counter::row_lock_waits, row_wait_.take_waits());
  THD *const thd = write_.thd;
  if (thd->is_error()) forget_error(thd);
  forget_warnings(thd);
  return step == Step::good;
}

}  // namespace postern::rows
