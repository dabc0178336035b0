#include "engine/server/server.h"

#include "engine/rows/writer.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "contract/executor.h"
#include "engine/server/differences.h"
#include "engine/server/failures.h"
#include "engine/server/interruption.h"
#include "engine/server/row_calls.h"

namespace postern::rows {

Writer::Writer(Counters *counters, RowWait &row_wait, const std::atomic<bool> &stop)
    : counters_(counters), row_wait_(row_wait), write_(counters, row_wait, stop), change_(write_) {}

void Writer::begin_batch(THD *thd, bool alone, int64_t row_wait_ms, int alone_row_wait_ms) {
  undo_ = false;
  write_.begin_batch(thd, alone, row_wait_ms, alone_row_wait_ms);
}

void Writer::run(Op &op, OpenTable &table) {
  write_.begin(op, table);
  examined_ = 0;
  at_hand_ = row_at_hand_ == table.table;
  if (at_hand_) row_at_hand_ = nullptr;
  THD *const thd = write_.thd;
  number_rows_in_warnings_anew(thd);
  row_key_ = holding_ ? key_of_row(op) : std::span<const Value>();
  on_held_ = holding_ && held_.is(table, row_key_);
  row_wait_.watch(true);
  Step step = on_held_ ? Step::good : make_way(table);
  if (step == Step::good)
    step = op.verb == Verb::insert ? insert(*op.insert) : op.verb == Verb::edit ? edit(*op.edit) : lock(*op.find);
  row_wait_.watch(false);
  change_.end();
  row_wait_.take_expired();  // at a moment when it no longer mattered
  counters_->add(Counter::rows_examined, examined_);
  op.rows_examined += static_cast<uint32_t>(examined_);
  counters_->add(Counter::row_lock_waits, row_wait_.take_waits());
  if (thd->is_error()) forget_error(thd);
  forget_warnings(thd);
  if (!write_.lost().lasted()) return;
  if (step == Step::left) {
    if (op.progress == Progress::locked) counters_->add(Counter::row_lock_yields);
    if (op.progress == Progress::needs_own_run) counters_->add(Counter::lone_writes);
    undo_ = write_.alone;
    return;
  }
  Outcome &outcome = write_.outcome;
  if (step == Step::failed) {
    // KILL QUERY ends one request, not those of others that share the run.
    if (outcome.failure == Failure::interrupted) end_interruption(thd);
    outcome.changed = 0;
    undo_ = write_.alone;
    count_failure(*counters_, op, outcome.failure);
  }
  counters_->add(op.verb == Verb::insert ? Counter::requests_insert
                 : op.verb == Verb::edit ? Counter::requests_edit
                                         : Counter::requests_find);
  counters_->add(Counter::rows_sent, outcome.rows);
  op.rows_sent = static_cast<uint32_t>(outcome.rows);
  outcome.columns = static_cast<uint32_t>(table.columns.size());
  outcome.message = write_.error.message;
  outcome.server_error = write_.error.number;
  op.reply->done(outcome);
}

// --- inserting ---------------------------------------------------------------------------------------------------

Step Writer::insert(const Insert &insert) {
  if (on_held_) return update_row_there(insert);
  WriteTable &target = *write_.table->target;
  const bool may_update = insert.on_duplicate == OnDuplicate::update || insert.on_duplicate == OnDuplicate::decide;
  if (!write_.alone &&
      ((may_update ? target.edits_need_own_run : target.inserts_need_own_run) || target.autoinc_may_be_held()))
    return write_.leave(Progress::needs_own_run);
  const bool may_look = may_update && knows_its_row(insert);
  const bool looks_first = may_look && target.rows_were_there;
  bool met = false;
  if (looks_first) {
    const Step step = update_row_met(insert, met);
    if (met || step != Step::good) return step;
  }
  TABLE *const table = write_.table->table;
  handler &file = *table->file;
  if (file.inited != handler::NONE) file.ha_index_or_rnd_end();
  change_.begin_insert(insert.values);

  write_.outcome.has_insert_id = table->found_next_number_field != nullptr;
  Step step = change_.fill_new_row();
  if (step == Step::failed && may_look && !looks_first) return update_row_after_all(insert);
  if (step != Step::good || change_.skipped()) return step;
  const bool tolerant = insert.on_duplicate != OnDuplicate::fail;
  if (tolerant) tell(file, HA_EXTRA_IGNORE_DUP_KEY);
  if (may_update) tell(file, HA_EXTRA_INSERT_WITH_UPDATE);
  step = write_new_row();
  if (tolerant) tell(file, HA_EXTRA_NO_IGNORE_DUP_KEY);
  // Ids are reserved for one row at a time, so that none is lost between the inserts of a batch.
  file.ha_release_auto_increment();
  note_id_given(*table, false);
  return step;
}

/// Whether to look up the row that the insert may have to change before a new one is made. If it exists, that saves
/// making, refusing and undoing a new one; if not, the lookup is wasted: so it is done if the last one existed. A
/// trigger may make another key. Under REPEATABLE READ the lookup would lock the gap against other sessions' inserts.
bool Writer::knows_its_row(const Insert &insert) const {
  const uint32_t key_columns = write_.table->spec->key_columns;
  if (key_columns == 0 || insert.values.size() < key_columns || write_.thd->tx_isolation > ISO_READ_COMMITTED)
    return false;
  return !has_before_insert_trigger(*write_.table->table);
}

/// Changes the row that has the key of the new one. `met`: there is one, and the insert is over.
Step Writer::update_row_met(const Insert &insert, bool &met) {
  const Find find{.key = insert.values.first(write_.table->spec->key_columns)};
  if (walk_.begin(write_.thd, *write_.table, find) != Failure::none) return Step::good;  // the insert will say why
  if (const Step step = open_index(); step != Step::good) return step;
  return walk([&] {
    met = true;
    TABLE *const table = write_.table->table;
    store_record(table, record[1]);
    if (insert.on_duplicate != OnDuplicate::decide) change_.draft.begin(*write_.table, insert.values);
    return update_row_there(insert);
  });
}

/// These values cannot make a new row, which does not matter if the row exists.
Step Writer::update_row_after_all(const Insert &insert) {
  const Outcome outcome = std::exchange(write_.outcome, {});
  const ServerError error = std::exchange(write_.error, {});
  bool met = false;
  const Step step = update_row_met(insert, met);
  if (met || step != Step::good) return step;
  write_.outcome = outcome;
  write_.error = error;
  return Step::failed;
}

Step Writer::write_new_row() {
  TABLE *const table = write_.table->table;
  handler &file = *table->file;
  const OnDuplicate on_duplicate = write_.op->insert->on_duplicate;
  write_.begin_change();
  const int code = insert_row(*table);
  if (code != 0) {
    // Only a duplicate may be ignored or updated.
    if (on_duplicate == OnDuplicate::fail || !is_duplicate(file, code)) return write_.fail_to_change(code);
    if (on_duplicate == OnDuplicate::ignore) return Step::good;
    return update_duplicate(code);
  }
  write_.table->target->rows_were_there = false;
  write_.outcome.insert_id = file.insert_id_for_cur_row;
  write_.outcome.changed = 1;
  return change_.inserted();
}

/// Updates the existing row, which the storage engine reported by the code `met`.
Step Writer::update_duplicate(int met) {
  TABLE *const table = write_.table->table;
  const uint met_key = table->file->get_dup_key(met);
  if (met_key >= table->s->keys) return write_.fail_with(met);
  const bool by_other_key = write_.table->spec->key_columns != 0 && met_key != write_.table->index;
  // The storage engine keeps this message until its next error.
  if (by_other_key) engine_failure(write_.thd, table, met, write_.error);
  write_.thd->lex->sql_command = SQLCOM_UPDATE;
  // Before the row is read: reading has to fetch the columns that changing needs.
  change_.begin_edit();
  const int code = by_other_key ? read_same_key(write_.table->index) : read_duplicate(met_key);
  if (by_other_key && (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE)) {
    write_.outcome.failure = Failure::duplicate_key;
    write_.outcome.engine_code = met;
    return Step::failed;
  }
  if (code != 0) return write_.fail_with(code);
  write_.error.clear();
  restore_record(table, record[1]);
  return update_row_there(*write_.op->insert);
}

/// Updates the row in record[0], of which record[1] is a copy, by the draft or by the edit's decision.
Step Writer::update_row_there(const Insert &insert) {
  write_.table->target->rows_were_there = true;
  write_.outcome.has_insert_id = false;
  const bool decides = insert.on_duplicate == OnDuplicate::decide;
  if (decides) {
    RowDraft &draft = change_.draft;
    draft.begin(*write_.table);
    const Decision decision = insert.edit->present(write_.table->reader.read(), draft);
    if (draft.failure() != Failure::none) return write_.fail(draft.failure(), {.message = draft.message()});
    if (decision == Decision::refuse || decision == Decision::alone) return refuse(decision);
    if (!on_held_) hold_row();
    if (decision != Decision::write) {
      row_at_hand_ = write_.table->table;
      return Step::good;
    }
  }
  const Step step = change_row();
  if (step == Step::good && (decides || write_.outcome.changed != 0)) write_.outcome.changed = 2;
  return step;
}

/// Nothing was changed yet.
Step Writer::refuse(Decision decision) {
  if (decision == Decision::alone && !write_.alone && !write_.step) return write_.leave(Progress::needs_own_run);
  return write_.fail(Failure::refused);
}

/// Reads the row into record[1] that the storage engine met by the unique key.
int Writer::read_duplicate(uint32_t number) {
  TABLE *const table = write_.table->table;
  handler &file = *table->file;
  if (!knows_place_of_duplicate(file)) return read_same_key(number);
  int code = file.ha_rnd_init(false);
  if (code == 0) {
    code = file.ha_rnd_pos(table->record[1], file.dup_ref);
    file.ha_rnd_end();
  }
  return finish_duplicate(code);
}

/// Reads the row into record[1] that has the same value of the unique key as record[0].
int Writer::read_same_key(uint32_t number) {
  TABLE *const table = write_.table->table;
  KEY &key = table->key_info[number];
  key_.resize(key.key_length);
  copy_key(key_.data(), table->record[0], key, 0);
  return finish_duplicate(
      table->file->ha_index_read_idx_map(table->record[1], number, key_.data(), HA_WHOLE_KEY, HA_READ_KEY_EXACT));
}

/// Computes the generated columns of the row that was read into record[1], and returns the result for both.
int Writer::finish_duplicate(int code) {
  TABLE *const table = write_.table->table;
  ++examined_;
  return code == 0 ? complete_old_row(*table) : code;
}

// --- changing and deleting -------------------------------------------------------------------------------------------

Step Writer::edit(const EditRows &edit) {
  const Find &find = edit.find;
  if (on_held_) return edit_row(edit);
  if (edit.same_row && at_hand_ && !write_.table->target->edits_need_own_run) return edit_row(edit);
  if (const Failure failure = walk_.begin(write_.thd, *write_.table, find); failure != Failure::none)
    return write_.fail(failure);
  const bool one_row = is_for_one_row(find);
  if (!write_.alone && ((!one_row && !write_.step) || write_.table->target->edits_need_own_run))
    return write_.leave(Progress::needs_own_run);
  if (const Step step = open_index(); step != Step::good) return step;
  if (one_row) return edit_first(edit);
  // Failures on the way are undone by the caller.
  const bool erases_on_the_way = edit.erases && find.in_list.empty() && can_roll_back(write_.table->file());
  return erases_on_the_way ? erase_all(edit) : edit_all(edit);
}

/// For a walk that locks its rows.
Step Writer::open_index() {
  write_.thd->lex->sql_command = SQLCOM_UPDATE;
  change_.draft.begin(*write_.table);
  // Ends a walk of the index for other columns; only then is it known whether a new one has to begin.
  change_.begin_edit();
  handler &file = write_.table->file();
  if (file.inited != handler::NONE && (file.inited != handler::INDEX || file.active_index != write_.table->index))
    file.ha_index_or_rnd_end();
  if (file.inited == handler::NONE) {
    if (const int code = file.ha_index_init(write_.table->index, true)) return write_.fail_with(code);
  }
  return Step::good;
}

/// Reads as an edit does, and so waits for rows and takes their locks as one.
Step Writer::lock(const Find &find) {
  if (const Failure failure = walk_.begin(write_.thd, *write_.table, find); failure != Failure::none)
    return write_.fail(failure);
  if (!write_.alone && (!write_.step || write_.table->target->edits_need_own_run))
    return write_.leave(Progress::needs_own_run);
  if (const Step step = open_index(); step != Step::good) return step;
  return walk([&] {
    const Flow flow = write_.op->reply->row(write_.table->reader.read());
    if (write_.thd->is_error()) return write_.fail_as_told(Failure::internal);
    if (flow == Flow::pause)
      return write_.alone ? write_.fail(Failure::reply_too_large) : write_.leave(Progress::needs_own_run);
    ++write_.outcome.rows;
    row_at_hand_ = write_.table->table;
    return Step::good;
  });
}

bool Writer::is_for_one_row(const Find &find) const {
  if (!find.in_list.empty()) return false;
  return find.limit == 1 ||
         (!find.prefix && write_.table->unique && find.comparison == Comparison::equal &&
          find.key.size() == write_.table->key_info().user_defined_key_parts &&
          std::none_of(find.key.begin(), find.key.end(), [](const Value &v) { return v.is_null(); }));
}

/// Visits every selected row, locked, in record[0]. `visit` ends the walk with anything but `good`.
template <class Visit>
Step Writer::walk(Visit visit) {
  for (; walk_.at_key(); walk_.next_key())
    if (const Step step = walk_key(visit); step != Step::good) return step;
  return Step::good;
}

template <class Visit>
Step Writer::walk_key(Visit visit) {
  const bool possible = walk_.open_key();
  ++examined_;
  if (!possible) return Step::good;
  for (int code = walk_.first_row();; code = walk_.next_row(true)) {
    if (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE) return Step::good;
    if (code != 0) return write_.fail_with(code);
    ++examined_;
    if (!write_.alone && examined_ > limits::find_rows_fast_max) return write_.leave(Progress::needs_own_run);
    if (write_.must_end()) return write_.fail_interrupted();
    if (walk_.judge() == Met::wanted) {
      const Step step = visit();
      if (step != Step::good) return step;
      walk_.take();
    } else {
      write_.table->file().unlock_row();
    }
    if (walk_.key_done()) return Step::good;
  }
}

/// At most one row, changed in place.
Step Writer::edit_first(const EditRows &edit) {
  walk_.limit_to(1);
  return walk([&] { return edit_row(edit); });
}

/// All rows are found and locked before the first is changed: a change may move a row to where the walk meets it again.
Step Writer::edit_all(const EditRows &edit) {
  TABLE *const table = write_.table->table;
  handler &file = *table->file;
  places_.clear();
  const size_t place_bytes = file.ref_length;
  Step step = walk([&] {
    if (places_.size() >= std::min(limits::edit_rows_max * place_bytes, limits::edit_places_bytes_max))
      return write_.fail(Failure::too_many_rows);
    file.position(table->record[0]);
    places_.insert(places_.end(), file.ref, file.ref + place_bytes);
    return Step::good;
  });
  // The places are read by position, for which the handler must have left the index.
  file.ha_index_end();
  if (step != Step::good) return step;
  if (const int code = file.ha_rnd_init(false)) return write_.fail_with(code);
  for (size_t at = 0; at < places_.size() && step == Step::good; at += place_bytes) {
    if (write_.must_end()) {
      step = write_.fail_interrupted();
      break;
    }
    const int code = file.ha_rnd_pos(table->record[0], places_.data() + at);
    // The same row twice in an IN list, and deleted the first time.
    if (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_RECORD_DELETED) continue;
    if (code == HA_ERR_END_OF_FILE) continue;
    if (code != 0) {
      step = write_.fail_with(code);
      break;
    }
    // A row that an IN list names twice has changed since it was found.
    const Filters::Verdict verdict = walk_.filters().judge();
    if (verdict == Filters::Verdict::stop) break;
    if (verdict == Filters::Verdict::pass) step = edit_row(edit);
  }
  file.ha_rnd_end();
  if (places_.capacity() > limits::arena_bytes_kept) std::vector<uchar>().swap(places_);
  return step;
}

/// All rows are deleted where they are found. No walk meets a deleted row again, and so none needs to be noted, however
/// many they are.
Step Writer::erase_all(const EditRows &edit) {
  uint64_t rows = 0;
  return walk([&] {
    if (++rows > limits::edit_rows_max) return write_.fail(Failure::too_many_rows);
    return edit_row(edit);
  });
}

/// Shows the row in record[0] and carries out the decision.
Step Writer::edit_row(const EditRows &edit) {
  const Row now = write_.table->reader.read();
  RowDraft &draft = change_.draft;
  draft.begin(*write_.table);
  const Decision decision = edit.edit->present(now, draft);
  if (draft.failure() != Failure::none) return write_.fail(draft.failure(), {.message = draft.message()});
  if (decision == Decision::refuse || decision == Decision::alone) return refuse(decision);
  TABLE *const table = write_.table->table;
  if (decision == Decision::keep) {
    if (on_held_) return Step::good;
    if (!edit.writes_too) {
      write_.table->file().unlock_row();
      return Step::good;
    }
    row_at_hand_ = table;
    store_record(table, record[1]);
    hold_row();
    return Step::good;
  }
  if (edit.rows_wanted) {
    if (write_.op->reply->row(now) == Flow::pause)
      return write_.alone ? write_.fail(Failure::reply_too_large) : write_.leave(Progress::needs_own_run);
    ++write_.outcome.rows;
  }
  if (decision == Decision::erase) {
    if (on_held_) {
      restore_record(table, record[1]);
      held_.forget();
    }
    return change_.erase();
  }
  if (!on_held_) {
    store_record(table, record[1]);
    hold_row();
  }
  return change_row();
}

}  // namespace postern::rows
