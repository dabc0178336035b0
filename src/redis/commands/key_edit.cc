#include "redis/commands/key_edit.h"

#include "redis/work/instead.h"
#include "redis/work/work.h"

namespace postern::redis {

Decision KeyEdit::present(Row row, Draft &draft) {
  const KeyState now = state_of(*open_.map, row, now_ms());
  const bool there = now.live || now.expired;
  // Rows of elements go with their key: that takes several steps.
  if (erases_ && there && now.has_elements) return Decision::alone;
  if (erases_ && now.expired) return Decision::erase;
  if (!now.live) return Decision::keep;
  StringDraft next(draft, *open_.map, now);
  const Decision decision = erases_ ? Decision::erase : change(now, next);
  done_ = decision != Decision::keep;
  if (decision == Decision::write) next.count_version();
  return decision;
}

void KeyEdit::done(const Outcome &given) {
  const Outcome outcome = how(given);
  // No row has a key that does not fit its column.
  if (outcome.failure != Failure::none && outcome.failure != Failure::bad_key_value) return fail(outcome);
  tell(begin(), done_ || ended.cleared);
}

void KeyEdit::restart() {
  passage_.take_back();
  done_ = false;
}

Next write_key(Call &call, const Place &place, KeyEdit &edit) {
  if (place.generic()) open_elements(call, *place.open);
  EditRows &rows = *call.arena().make<EditRows>(Find{.key = place.key, .limit = 1}, &edit);
  rows.erases = edit.erases();
  rows.reads_old_values = true;
  Op &op = add_op(call, Verb::edit, place.open->table, edit);
  op.edit = &rows;
  if (place.generic() && edit.erases()) rows.script = script_instead(call, place, op, edit);
  return Next::go_on;
}

}  // namespace postern::redis
