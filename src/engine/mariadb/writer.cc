#include "engine/mariadb/server.h"

#include <item.h>
#include <sql_insert.h>
#include <sql_trigger.h>
#include <sql_update.h>

#include "engine/mariadb/writer.h"

#include <algorithm>

#include "base/limits.h"
#include "contract/executor.h"
#include "engine/mariadb/cursor.h"
#include "engine/mariadb/failures.h"

namespace postern::mariadb {

Writer::Writer(Counters *counters, RowWait &row_wait, const std::atomic<bool> &stop)
    : counters_(counters),
      row_wait_(row_wait),
      stop_(stop),
      items_(&item_memory_, Query_arena::STMT_CONVENTIONAL_EXECUTION) {
  init_alloc_root(PSI_NOT_INSTRUMENTED, &item_memory_, 4096, 0, MYF(0));
}

Writer::~Writer() {
  free_root(&item_memory_, MYF(0));
}

void Writer::begin_batch(THD *thd, bool alone, int64_t row_wait_ms) {
  thd_ = thd;
  alone_ = alone;
  undo_ = false;
  row_wait_ms_ = row_wait_ms;
  began_us_ = microsecond_interval_timer();
  lost_ = {};
  row_wait_.allow(alone ? limits::row_wait_slow_ms : limits::row_wait_fast_ms);
}

void Writer::run(Op &op, OpenTable &table) {
  op_ = &op;
  table_ = &table;
  outcome_ = {};
  message_.clear();
  examined_ = 0;
  op.progress = Progress::done;
  thd_->get_stmt_da()->reset_current_row_for_warning(1);
  row_wait_.watch(true);
  const Step step = op.verb == Verb::insert ? insert(*op.insert) : edit(*op.edit);
  row_wait_.watch(false);
  thd_->abort_on_warning = false;
  thd_->count_cuted_fields = CHECK_FIELD_IGNORE;
  forget_items();
  draft_.give_back();
  row_wait_.take_expired();  // where it did not matter any more
  counters_->add(Counter::rows_examined, examined_);
  counters_->add(Counter::row_lock_waits, row_wait_.take_waits());
  if (thd_->is_error()) thd_->clear_error(true);
  if (thd_->get_stmt_da()->current_statement_warn_count() != 0) thd_->get_stmt_da()->clear_warning_info(thd_->query_id);
  if (!lost_.lasted()) return;
  if (step == Step::left) {
    if (op.progress == Progress::locked) counters_->add(Counter::row_lock_yields);
    if (op.progress == Progress::alone) counters_->add(Counter::lone_writes);
    undo_ = alone_;
    return;
  }
  if (step == Step::failed) {
    // KILL QUERY ends one request, not those of others that share the run.
    if (outcome_.failure == Failure::interrupted && thd_->killed < KILL_CONNECTION) thd_->reset_killed();
    outcome_.changed = 0;
    undo_ = alone_;
    count_failure(*counters_, op, outcome_.failure);
  }
  counters_->add(op.verb == Verb::insert ? Counter::requests_insert : Counter::requests_edit);
  counters_->add(Counter::rows_sent, outcome_.rows);
  outcome_.columns = static_cast<uint32_t>(table.columns.size());
  outcome_.message = message_;
  op.reply->done(outcome_);
}

// --- inserting ---------------------------------------------------------------------------------------------------

Writer::Step Writer::insert(const Insert &insert) {
  const WriteTable &target = *table_->target;
  const bool may_update = insert.on_duplicate == OnDuplicate::update || insert.on_duplicate == OnDuplicate::decide;
  if (!alone_ && (may_update ? target.lone_edits : target.lone_inserts)) return leave(Progress::alone);
  TABLE *const table = table_->table;
  handler &file = *table->file;
  if (file.inited != handler::NONE) file.ha_index_or_rnd_end();
  thd_->lex->sql_command = SQLCOM_INSERT;
  announce(TRG_EVENT_INSERT);
  draft_.begin(*table_, insert.values);
  mark_for_insert();

  outcome_.has_insert_id = table->found_next_number_field != nullptr;
  Step step = fill_new_row();
  if (step != Step::good) return step;
  const bool tolerant = insert.on_duplicate != OnDuplicate::fail;
  if (tolerant) file.extra(HA_EXTRA_IGNORE_DUP_KEY);
  if (may_update) file.extra(HA_EXTRA_INSERT_WITH_UPDATE);
  step = write_new_row();
  if (tolerant) file.extra(HA_EXTRA_NO_IGNORE_DUP_KEY);
  // Ids are reserved for one row at a time, so that none is lost between the inserts of a batch.
  file.ha_release_auto_increment();
  table->auto_increment_field_not_null = false;
  return step;
}

void Writer::mark_for_insert() {
  WriteTable &target = *table_->target;
  TABLE *const table = table_->table;
  table->next_number_field = table->found_next_number_field;
  if (target.marked == WriteTable::Marked::insert && target.marked_for == table_ &&
      target.marked_values == draft_.size())
    return;
  target.marked = WriteTable::Marked::insert;
  target.marked_for = table_;
  target.marked_values = draft_.size();
  bitmap_clear_all(&table->def_read_set);
  bitmap_clear_all(&table->def_write_set);
  table->column_bitmaps_set_no_signal(&table->def_read_set, &table->def_write_set);
  for (size_t i = 0; i < draft_.size(); ++i) bitmap_set_bit(table->write_set, draft_.field(i));
  table->prepare_triggers_for_insert_stmt_or_event();
  table->mark_columns_needed_for_insert();
  table->file->prepare_for_insert(true);
  table->file->column_bitmaps_signal();
}

Writer::Step Writer::fill_new_row() {
  TABLE *const table = table_->table;
  thd_->count_cuted_fields = CHECK_FIELD_ERROR_FOR_NULL;
  thd_->abort_on_warning = true;
  // With a BEFORE trigger that may fill them in, columns without a value are looked at after it.
  if (table->field == table->field_to_fill() &&
      check_that_all_fields_are_given_values(thd_, table, table->pos_in_table_list))
    return fail_as_told(Failure::bad_value);
  if (table->validate_default_values_of_unset_fields(thd_)) return fail_as_told(Failure::bad_value);
  restore_default_record_for_insert(table);
  table->reset_default_fields();
  if (fills_by_items()) {
    const Step step = fill_by_items(TRG_EVENT_INSERT);
    if (step != Step::good) return step;
  } else {
    table->auto_increment_field_not_null = false;
    for (size_t i = 0; i < draft_.size(); ++i) {
      Field *const field = table->field[draft_.field(i)];
      if (field->vcol_info != nullptr) {
        if (!draft_.is_null(i)) return fail_generated(field);
        continue;
      }
      if (field == table->next_number_field) table->auto_increment_field_not_null = true;
      draft_.store(i, field);
      if (thd_->is_error()) return fail_as_told(Failure::bad_value);
      field->set_has_explicit_value();
    }
    if (table->default_field != nullptr && table->update_default_fields(false)) return fail_as_told(Failure::bad_value);
    if (table->vfield != nullptr && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE))
      return fail_as_told(Failure::bad_value);
  }
  if (table->verify_constraints(false) != VIEW_CHECK_OK) return fail_as_told(Failure::constraint);
  return Step::good;
}

Writer::Step Writer::write_new_row() {
  TABLE *const table = table_->table;
  handler &file = *table->file;
  const OnDuplicate on_duplicate = op_->insert->on_duplicate;
  const int code = file.ha_write_row(table->record[0]);
  if (code != 0) {
    if (on_duplicate == OnDuplicate::fail || file.is_fatal_error(code, HA_CHECK_ALL) ||
        !file.is_fatal_error(code, HA_CHECK_ALL & ~HA_CHECK_DUP))
      return fail_with(code);
    if (on_duplicate == OnDuplicate::ignore) return Step::good;
    return update_duplicate(code);
  }
  outcome_.insert_id = file.insert_id_for_cur_row;
  changed_row(Counter::rows_inserted);
  outcome_.changed = 1;
  return fire(TRG_EVENT_INSERT, TRG_ACTION_AFTER);
}

/// The row that is there already, as the storage engine's code `met` says, gets the values given or decided on.
Writer::Step Writer::update_duplicate(int met) {
  TABLE *const table = table_->table;
  const Insert &insert = *op_->insert;
  const uint met_key = table->file->get_dup_key(met);
  if (met_key >= table->s->keys) return fail_with(met);
  const bool by_other_key = table_->whole_unique_key && met_key != table_->index;
  // The storage engine knows these words until its next error.
  if (by_other_key) engine_failure(thd_, table, met, message_);
  thd_->lex->sql_command = SQLCOM_UPDATE;
  mark_for_edit();
  const int code = by_other_key ? read_same_key(table_->index) : read_duplicate(met_key);
  if (by_other_key && (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE)) {
    outcome_.failure = Failure::duplicate_key;
    outcome_.engine_code = met;
    return Step::failed;
  }
  if (code != 0) return fail_with(code);
  message_.clear();
  restore_record(table, record[1]);
  outcome_.has_insert_id = false;
  const bool decides = insert.on_duplicate == OnDuplicate::decide;
  if (decides) {
    draft_.begin(*table_);
    const Decision decision = insert.edit->present(table_->reader.read(), draft_);
    if (draft_.failure() != Failure::none) return fail(draft_.failure(), draft_.message());
    if (decision != Decision::write) return Step::good;
  }
  const Step step = update_row();
  if (step == Step::good && (decides || outcome_.changed != 0)) outcome_.changed = 2;
  return step;
}

/// Reads the row into record[1] that the storage engine met by the unique key.
int Writer::read_duplicate(uint32_t number) {
  TABLE *const table = table_->table;
  handler &file = *table->file;
  if (!(file.ha_table_flags() & HA_DUPLICATE_POS) && file.lookup_errkey == static_cast<uint>(-1))
    return read_same_key(number);
  int code = file.ha_rnd_init(false);
  if (code == 0) {
    code = file.ha_rnd_pos(table->record[1], file.dup_ref);
    file.ha_rnd_end();
  }
  return finish_duplicate(code);
}

/// Reads the row into record[1] that has the same value of the unique key as record[0].
int Writer::read_same_key(uint32_t number) {
  TABLE *const table = table_->table;
  KEY &key = table->key_info[number];
  key_.resize(key.key_length);
  key_copy(key_.data(), table->record[0], &key, 0);
  return finish_duplicate(
      table->file->ha_index_read_idx_map(table->record[1], number, key_.data(), HA_WHOLE_KEY, HA_READ_KEY_EXACT));
}

/// Computes what is generated in the row that was read into record[1], and returns what came of both.
int Writer::finish_duplicate(int code) {
  TABLE *const table = table_->table;
  handler &file = *table->file;
  if (code == 0 && table->vfield != nullptr) {
    table->move_fields(table->field, table->record[1], table->record[0]);
    code = table->update_virtual_fields(&file, VCOL_UPDATE_FOR_REPLACE);
    table->move_fields(table->field, table->record[0], table->record[1]);
  }
  ++examined_;
  return code;
}

// --- changing and deleting -------------------------------------------------------------------------------------------

Writer::Step Writer::edit(const EditRows &edit) {
  const Find &find = edit.find;
  if (const Failure failure = check_index(*table_, find); failure != Failure::none) return fail(failure);
  if (!find.in_list.empty() && find.in_part >= find.key.size()) return fail(Failure::too_many_key_parts);
  const bool one_row = is_for_one_row(find);
  if (!alone_ && (!one_row || table_->target->lone_edits)) return leave(Progress::alone);
  const Failure failure = filters_.prepare(thd_, *table_, find.filters, message_);
  if (failure != Failure::none) return fail(failure, std::move(message_));
  thd_->lex->sql_command = SQLCOM_UPDATE;
  draft_.begin(*table_);
  mark_for_edit();
  handler &file = table_->file();
  if (file.inited != handler::NONE && (file.inited != handler::INDEX || file.active_index != table_->index))
    file.ha_index_or_rnd_end();
  if (file.inited == handler::NONE) {
    if (const int code = file.ha_index_init(table_->index, true)) return fail_with(code);
  }
  if (one_row) return edit_first(edit);
  // What fails on the way is undone: by whoever can.
  const bool erases_on_the_way = edit.erases && find.in_list.empty() && file.has_transactions_and_rollback();
  return erases_on_the_way ? erase_all(edit) : edit_all(edit);
}

bool Writer::is_for_one_row(const Find &find) const {
  if (!find.in_list.empty()) return false;
  return find.limit == 1 ||
         (table_->unique && find.comparison == Comparison::equal &&
          find.key.size() == table_->key_info().user_defined_key_parts &&
          std::none_of(find.key.begin(), find.key.end(), [](const Value &v) { return v.is_null(); }));
}

void Writer::mark_for_edit() {
  WriteTable &target = *table_->target;
  TABLE *const table = table_->table;
  table->next_number_field = nullptr;
  if (target.marked == WriteTable::Marked::edit && target.marked_for == table_) return;
  target.marked = WriteTable::Marked::edit;
  target.marked_for = table_;
  if (table->file->inited != handler::NONE) table->file->ha_index_or_rnd_end();  // its row template is of other columns
  bitmap_set_all(&table->def_read_set);
  bitmap_clear_all(&table->def_write_set);
  table->column_bitmaps_set_no_signal(&table->def_read_set, &table->def_write_set);
  for (const uint16_t column : table_->columns) bitmap_set_bit(table->write_set, column);
  table->prepare_triggers_for_update_stmt_or_event();
  table->prepare_triggers_for_delete_stmt_or_event();
  table->mark_columns_needed_for_update();
  if (has_triggers()) table->mark_columns_needed_for_delete();
  table->file->prepare_for_insert(true);
  table->file->column_bitmaps_signal();
}

/// Every row of `find`, locked, in record[0]. `visit` ends the walk with anything but `good`.
template <class Visit>
Writer::Step Writer::walk(const Find &find, Visit visit) {
  uint64_t to_skip = find.offset;
  uint64_t left = find.limit;
  if (find.in_list.empty()) return walk_key(find, nullptr, to_skip, left, visit);
  for (const Value &value : find.in_list) {
    if (left == 0) break;
    const Step step = walk_key(find, &value, to_skip, left, visit);
    if (step != Step::good) return step;
  }
  return Step::good;
}

template <class Visit>
Writer::Step Writer::walk_key(const Find &find, const Value *in_value, uint64_t &to_skip, uint64_t &left, Visit visit) {
  OpenTable &table = *table_;
  KeyStart start;
  const Failure failure =
      build_key(thd_, table, find.key, find.comparison, find.in_part, in_value, table.key, start, message_);
  if (failure != Failure::none) return fail(failure, std::move(message_));
  ++examined_;
  if (start.comparison == Comparison::never) return Step::good;
  const bool one_row = leads_to_one_row(table, find, start, in_value);
  for (int code = first_row(table, start);; code = next_row(table, start, true)) {
    if (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE) return Step::good;
    if (code != 0) return fail_with(code);
    ++examined_;
    if (!alone_ && examined_ > limits::find_rows_fast_max) return leave(Progress::alone);
    if (thd_->killed || stop_.load(std::memory_order_relaxed)) return fail_interrupted();
    const bool current = table.versioning_end == nullptr || table.versioning_end->is_max();
    if (!current || (start.recheck && !row_matches(table, start, find.key, find.in_part, in_value))) {
      table.file().unlock_row();
    } else {
      const Filters::Verdict verdict = filters_.judge();
      if (verdict == Filters::Verdict::stop) {
        left = 0;
        return Step::good;
      }
      if (verdict == Filters::Verdict::skip) {
        table.file().unlock_row();
      } else if (to_skip != 0) {
        --to_skip;
        table.file().unlock_row();
      } else {
        const Step step = visit();
        if (step != Step::good) return step;
        if (--left == 0) return Step::good;
      }
    }
    if (one_row) return Step::good;
  }
}

/// At most one row, changed where it is found.
Writer::Step Writer::edit_first(const EditRows &edit) {
  Find find = edit.find;
  find.limit = 1;
  return walk(find, [&] { return edit_row(edit); });
}

/// All rows are found and locked before the first is changed: a change may move a row to where the walk meets it again.
Writer::Step Writer::edit_all(const EditRows &edit) {
  TABLE *const table = table_->table;
  handler &file = *table->file;
  places_.clear();
  const size_t place_bytes = file.ref_length;
  Step step = walk(edit.find, [&] {
    if (places_.size() >= std::min(limits::edit_rows_max * place_bytes, limits::edit_places_bytes_max))
      return fail(Failure::too_many_rows);
    file.position(table->record[0]);
    places_.insert(places_.end(), file.ref, file.ref + place_bytes);
    return Step::good;
  });
  file.ha_index_end();
  if (step != Step::good) return step;
  if (const int code = file.ha_rnd_init(false)) return fail_with(code);
  for (size_t at = 0; at < places_.size() && step == Step::good; at += place_bytes) {
    if (thd_->killed || stop_.load(std::memory_order_relaxed)) {
      step = fail_interrupted();
      break;
    }
    const int code = file.ha_rnd_pos(table->record[0], places_.data() + at);
    // The same row twice in an IN list, and deleted the first time.
    if (code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_RECORD_DELETED) continue;
    if (code == HA_ERR_END_OF_FILE) continue;
    if (code != 0) {
      step = fail_with(code);
      break;
    }
    // A row that an IN list names twice has changed since it was found.
    const Filters::Verdict verdict = filters_.judge();
    if (verdict == Filters::Verdict::stop) break;
    if (verdict == Filters::Verdict::pass) step = edit_row(edit);
  }
  file.ha_rnd_end();
  if (places_.capacity() > limits::arena_bytes_kept) std::vector<uchar>().swap(places_);
  return step;
}

/// All rows are deleted where they are found. No walk meets a deleted row again, and so none needs to be noted, however
/// many they are.
Writer::Step Writer::erase_all(const EditRows &edit) {
  uint64_t rows = 0;
  return walk(edit.find, [&] {
    if (++rows > limits::edit_rows_max) return fail(Failure::too_many_rows);
    return edit_row(edit);
  });
}

/// Shows the row in record[0] and does what was decided.
Writer::Step Writer::edit_row(const EditRows &edit) {
  const Row now = table_->reader.read();
  draft_.begin(*table_);
  const Decision decision = edit.edit->present(now, draft_);
  if (draft_.failure() != Failure::none) return fail(draft_.failure(), draft_.message());
  if (decision == Decision::keep) {
    table_->file().unlock_row();
    return Step::good;
  }
  if (edit.rows_wanted) {
    if (op_->reply->row(now) == Flow::pause) return alone_ ? fail(Failure::reply_too_large) : leave(Progress::alone);
    ++outcome_.rows;
  }
  if (decision == Decision::erase) return erase_row();
  TABLE *const table = table_->table;
  store_record(table, record[1]);
  return update_row();
}

Writer::Step Writer::erase_row() {
  TABLE *const table = table_->table;
  thd_->lex->sql_command = SQLCOM_DELETE;
  announce(TRG_EVENT_DELETE);
  Step step = fire(TRG_EVENT_DELETE, TRG_ACTION_BEFORE);
  if (step != Step::good) return step;
  if (const int code = table->delete_row()) return fail_with(code);
  changed_row(Counter::rows_deleted);
  ++outcome_.changed;
  return fire(TRG_EVENT_DELETE, TRG_ACTION_AFTER);
}

/// Changes the row in record[0], of which record[1] is a copy, as the draft says.
Writer::Step Writer::update_row() {
  TABLE *const table = table_->table;
  thd_->count_cuted_fields = CHECK_FIELD_WARN;
  thd_->abort_on_warning = true;
  thd_->lex->sql_command = SQLCOM_UPDATE;
  announce(TRG_EVENT_UPDATE);
  table->reset_default_fields();
  Step step = fill_update();
  if (step != Step::good) return step;
  // SQL gives a versioned row a history even where nothing changes.
  if (table->versioned() || compare_record(table)) {
    if (table->verify_constraints(false) != VIEW_CHECK_OK) return fail_as_told(Failure::constraint);
    const int code = table->file->ha_update_row(table->record[1], table->record[0]);
    if (code != 0 && code != HA_ERR_RECORD_IS_THE_SAME) return fail_with(code);
    if (code == 0) changed_row(Counter::rows_updated);
    if (op_->verb == Verb::insert && code == 0) ++outcome_.changed;
  }
  // A row that had the values already is counted among the changed ones, as it always was.
  if (op_->verb == Verb::edit) ++outcome_.changed;
  step = keep_history();
  if (step != Step::good) return step;
  return fire(TRG_EVENT_UPDATE, TRG_ACTION_AFTER);
}

Writer::Step Writer::fill_update() {
  TABLE *const table = table_->table;
  if (fills_by_items()) return fill_by_items(TRG_EVENT_UPDATE);
  for (size_t i = 0; i < draft_.size(); ++i) {
    Field *const field = table->field[draft_.field(i)];
    if (field->vcol_info != nullptr) {
      if (!draft_.is_null(i)) return fail_generated(field);
      continue;
    }
    draft_.store(i, field);
    if (thd_->is_error()) return fail_as_told(Failure::bad_value);
    field->set_has_explicit_value();
  }
  table->evaluate_update_default_function();
  if (table->vfield != nullptr && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE))
    return fail_as_told(Failure::bad_value);
  return Step::good;
}

/// The row as it was, for a table that keeps its history.
Writer::Step Writer::keep_history() {
  TABLE *const table = table_->table;
  if (!table->versioned(VERS_TIMESTAMP) || !table->vers_check_update(fields_)) return Step::good;
  store_record(table, record[2]);
  table->mark_columns_per_binlog_row_image();
  const int code = vers_insert_history_row(table);
  restore_record(table, record[2]);
  return code == 0 ? Step::good : fail_with(code);
}

// --- both --------------------------------------------------------------------------------------------------------

/// What the storage engine is told that happens to the row: with several events it would take none for granted, and
/// leave foreign keys of versioned rows unchecked.
void Writer::announce(int event) {
  if (alone_) table_->table->pos_in_table_list->trg_event_map = trg2bit(static_cast<trg_event_type>(event));
}

/// Fills record[0] as SQL does, with what BEFORE triggers make of it.
Writer::Step Writer::fill_by_items(int event) {
  forget_items();
  Query_arena of_statement;
  thd_->set_n_backup_active_arena(&items_, &of_statement);
  list_items();
  const bool failed = fill_record_n_invoke_before_triggers(thd_, table_->table, fields_, values_, false,
                                                           static_cast<trg_event_type>(event));
  thd_->restore_active_arena(&items_, &of_statement);
  return failed || thd_->is_error() ? fail_as_told(Failure::bad_value) : Step::good;
}

void Writer::forget_items() {
  fields_.empty();
  values_.empty();
  items_.free_items();
  free_root(&item_memory_, MYF(MY_KEEP_PREALLOC));
}

/// The draft as the server's own functions want it.
void Writer::list_items() {
  Field **const fields = table_->table->field_to_fill();
  for (size_t i = 0; i < draft_.size(); ++i) {
    Field *const field = fields[draft_.field(i)];
    fields_.push_back(new (thd_->mem_root) Item_field(thd_, field), thd_->mem_root);
    values_.push_back(draft_.item(i, thd_, field), thd_->mem_root);
  }
}

Writer::Step Writer::fire(int event, int time) {
  if (!has_triggers()) return Step::good;
  const auto action = static_cast<trg_action_time_type>(time);
  const auto on = static_cast<trg_event_type>(event);
  if (!table_->table->triggers->process_triggers(thd_, on, action, on != TRG_EVENT_DELETE)) return Step::good;
  return fail_as_told(Failure::constraint);
}

void Writer::changed_row(Counter counter) {
  table_->target->changed = true;
  counters_->add(counter);
  if (!alone_) return;
  if (!table_->file().has_transactions_and_rollback()) thd_->transaction->stmt.modified_non_trans_table = true;
  // Beginning anew costs what has been done so far, so that waiting as long costs no more. Longer, and a row that
  // somebody keeps locked would hold up every other write that is run alone.
  const auto spent_ms = static_cast<int64_t>((microsecond_interval_timer() - began_us_) / 1000);
  row_wait_.allow(std::min(row_wait_ms_, std::max<int64_t>(limits::row_wait_slow_ms, spent_ms)));
}

Writer::Step Writer::fail(Failure failure, std::string message) {
  outcome_.failure = failure;
  message_ = std::move(message);
  return Step::failed;
}

/// A generated column takes no value but the one it computes, or NULL where one has to be given.
Writer::Step Writer::fail_generated(const Field *field) {
  my_error(ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), field->field_name.str,
           field->table->s->table_name.str);
  return fail_as_told(Failure::bad_value);
}

/// The server has said what is wrong.
Writer::Step Writer::fail_as_told(Failure failure) {
  if (thd_->killed) return fail_with(HA_ERR_ABORTED_BY_USER);
  if (thd_->transaction_rollback_request) return fail_with(HA_ERR_LOCK_DEADLOCK);
  return fail(failure, take_server_message(thd_));
}

/// A code of the storage engine.
Writer::Step Writer::fail_with(int code) {
  // A row that the binary log has no room for is changed already. Among others it takes all of them along, to be run
  // again; alone it is undone.
  const bool unlogged = code == HA_ERR_RBR_LOGGING_FAILED && !alone_;
  const bool gone = thd_->transaction_rollback_request || unlogged;
  if (!gone && (code == HA_ERR_ABORTED_BY_USER || code == HA_ERR_LOCK_WAIT_TIMEOUT)) {
    if (row_wait_.take_expired() || code == HA_ERR_LOCK_WAIT_TIMEOUT) {
      if (!cannot_be_undone(thd_)) return leave(Progress::locked);
      lost_ = {.failure = Failure::row_locked, .repeatable = false};
      return Step::failed;
    }
  }
  Failure failure = engine_failure(thd_, table_->table, code, message_);
  if (gone || (failure == Failure::interrupted && thd_->killed >= KILL_CONNECTION)) {
    lost_ = {.failure = failure, .engine_code = code, .message = message_, .repeatable = !cannot_be_undone(thd_)};
    return Step::failed;
  }
  if (code == HA_ERR_FOUND_DUPP_KEY || code == HA_ERR_FOUND_DUPP_UNIQUE) failure = Failure::duplicate_key;
  outcome_.failure = failure;
  outcome_.engine_code = code;
  return Step::failed;
}

/// By KILL, or because the thread has to stop. In that case nobody will hear of this op, and so those behind it must
/// not be done without it.
Writer::Step Writer::fail_interrupted() {
  if (!stop_.load(std::memory_order_relaxed)) return fail_with(HA_ERR_ABORTED_BY_USER);
  lost_ = {.failure = Failure::stopping};
  return Step::failed;
}

Writer::Step Writer::leave(Progress progress) {
  op_->progress = progress;
  return Step::left;
}

}  // namespace postern::mariadb
