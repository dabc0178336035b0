#include "engine/mysql/server.h"

#include "engine/mysql/row_change.h"

#include "engine/mysql/differences.h"
#include "engine/mysql/row_calls.h"

namespace postern::mysqld {
namespace {

/// While one lives, a value that does not fit is an error, as in a statement of SQL in strict mode.
class Strict {
 public:
  Strict(THD *thd, enum_check_fields nulls) : thd_(thd) {
    thd_->check_for_truncated_fields = nulls;
    thd_->push_internal_handler(&handler_);
  }
  ~Strict() {
    thd_->pop_internal_handler();
    thd_->check_for_truncated_fields = CHECK_FIELD_IGNORE;
  }
  Strict(const Strict &) = delete;
  Strict &operator=(const Strict &) = delete;

 private:
  THD *const thd_;
  Strict_error_handler handler_;
};

/// While one lives, all columns accept NULL, for triggers that replace it.
class TemporaryNulls {
 public:
  explicit TemporaryNulls(THD *thd, Table_trigger_dispatcher *triggers) : triggers_(triggers) {
    if (triggers_ != nullptr) triggers_->enable_fields_temporary_nullability(thd);
  }
  /// Columns refuse NULL again; check_constraints() knows for a while which of them have it.
  void end() {
    if (triggers_ != nullptr) triggers_->disable_fields_temporary_nullability();
    ended_ = true;
  }
  ~TemporaryNulls() {
    if (!ended_) end();
    if (triggers_ != nullptr) triggers_->reset_field_nulls();
  }
  TemporaryNulls(const TemporaryNulls &) = delete;
  TemporaryNulls &operator=(const TemporaryNulls &) = delete;

 private:
  Table_trigger_dispatcher *const triggers_;  // nullptr: nothing fires
  bool ended_ = false;
};

}  // namespace

void RowChange::end() {
  write_.thd->check_for_truncated_fields = CHECK_FIELD_IGNORE;
  draft.give_back();
}

bool RowChange::is_given(const Field &field) const {
  for (size_t i = 0; i < draft.size(); ++i)
    if (draft.field(i) == position_of(field)) return true;
  return false;
}

// --- inserting -------------------------------------------------------------------------------------------------------

void RowChange::begin_insert(std::span<const Value> values) {
  write_.thd->lex->sql_command = SQLCOM_INSERT;
  draft.begin(*write_.table, values);
  mark_for_insert();
  // A column warns once for each INSERT statement: it remembers that it did, maybe in an earlier statement on this
  // TABLE.
  for (Field **field = table().field; *field != nullptr; ++field) (*field)->reset_warnings();
}

void RowChange::mark_for_insert() {
  WriteTable &target = *write_.table->target;
  TABLE &opened = table();
  opened.next_number_field = opened.found_next_number_field;
  if (target.marked == WriteTable::Marked::insert && target.marked_for == write_.table &&
      target.marked_values == draft.size())
    return;
  target.marked = WriteTable::Marked::insert;
  target.marked_for = write_.table;
  target.marked_values = draft.size();
  target.rest_is_good = false;
  bitmap_clear_all(&opened.def_read_set);
  bitmap_clear_all(&opened.def_write_set);
  bitmap_clear_all(opened.fields_set_during_insert);
  opened.column_bitmaps_set_no_signal(&opened.def_read_set, &opened.def_write_set);
  for (size_t i = 0; i < draft.size(); ++i) bitmap_set_bit(opened.write_set, draft.field(i));
  for (Field **field = opened.field; *field != nullptr; ++field) {
    const bool computes = (*field)->has_insert_default_general_value_expression();
    if (!computes && !(*field)->has_insert_default_datetime_value_expression()) continue;
    bitmap_set_bit(opened.write_set, position_of(**field));
    if (computes) bitmap_union(opened.read_set, &(*field)->m_default_val_expr->base_columns_map);
  }
  if (opened.triggers != nullptr) opened.triggers->mark_fields(TRG_EVENT_INSERT);
  prepare_triggers_for_insert_stmt(write_.thd, &opened);
  opened.file->column_bitmaps_signal();
}

Step RowChange::fill_new_row() {
  TABLE &opened = table();
  {
    const Strict strict(write_.thd, CHECK_FIELD_ERROR_FOR_NULL);
    const Step step = fill_insert();
    if (step != Step::good) return step;
    if (WriteTable &target = *write_.table->target; !target.rest_is_good) {
      if (check_that_all_fields_are_given_values(write_.thd, &opened, nullptr))
        return write_.fail_as_told(Failure::bad_value);
      // Before triggers may fill columns of some rows.
      target.rest_is_good = !fires(TRG_EVENT_INSERT);
    }
  }
  return check_new_row();
}

Step RowChange::fill_insert() {
  TABLE &opened = table();
  restore_record(&opened, s->default_values);
  if (!write_.table->target->rest_is_good && validate_default_values_of_unset_fields(write_.thd, &opened))
    return write_.fail_as_told(Failure::bad_value);
  note_id_given(opened, false);
  // Triggers see the defaults, and values in their place.
  const bool before_trigger = fires(TRG_EVENT_INSERT);
  TemporaryNulls nulls(write_.thd, before_trigger ? opened.triggers : nullptr);
  Step step = before_trigger ? set_insert_defaults() : Step::good;
  if (step == Step::good) step = store_draft();
  if (step == Step::good && !before_trigger) step = set_insert_defaults();
  if (step == Step::good) step = compute_generated();
  if (step != Step::good || !before_trigger) return step;
  step = run_before_triggers(TRG_EVENT_INSERT);
  nulls.end();
  return step == Step::good ? check_nulls() : step;
}

/// Stores the draft's values in their columns. An update must not see next_number_field.
inline Step RowChange::store_draft() {
  TABLE &opened = table();
  for (size_t i = 0; i < draft.size(); ++i) {
    Field *const field = opened.field[draft.field(i)];
    if (field->is_gcol()) {
      if (!draft.is_null(i)) return fail_generated(field);
      continue;
    }
    if (field == opened.next_number_field) note_id_given(opened, true);
    draft.store(i, field);
    if (write_.thd->is_error()) return write_.fail_as_told(Failure::bad_value);
    bitmap_set_bit(opened.fields_set_during_insert, position_of(*field));
  }
  return Step::good;
}

Step RowChange::set_insert_defaults() {
  TABLE &opened = table();
  for (Field **field = opened.field; *field != nullptr; ++field) {
    if (!(*field)->has_insert_default_general_value_expression() &&
        !(*field)->has_insert_default_datetime_value_expression())
      continue;
    if (is_given(**field)) continue;
    (*field)->evaluate_insert_default_function();
    if (write_.thd->is_error()) return write_.fail_as_told(Failure::bad_value);
  }
  return Step::good;
}

/// A virtual column of type TEXT, BLOB, JSON or an array has its value in a buffer of its field, and record[0] points
/// there. The first time after a row was read, that value is put aside for record[1]: its index needs both.
Step RowChange::compute_generated_anew() {
  TABLE &opened = table();
  if (!opened.has_gcol()) return Step::good;
  const bool failed = update_generated_write_fields(opened.write_set, &opened);
  return failed || write_.thd->is_error() ? write_.fail_as_told(Failure::bad_value) : Step::good;
}

/// As long as no row was read since, there is no old value to put aside.
Step RowChange::compute_generated() {
  if (table().has_gcol()) table().blobs_need_not_keep_old_value();
  return compute_generated_anew();
}

Step RowChange::run_before_triggers(enum_trigger_event_type event) {
  const Step step = fire(event, TRG_ACTION_BEFORE);
  return step == Step::good ? compute_generated() : step;
}

/// Triggers may set NULL in NOT NULL columns temporarily.
Step RowChange::check_nulls() {
  for (Field **field = table().field; *field != nullptr; ++field)
    if ((*field)->check_constraints(ER_BAD_NULL_ERROR) != TYPE_OK) return write_.fail_as_told(Failure::bad_value);
  return Step::good;
}

Step RowChange::check_new_row() {
  THD *const thd = write_.thd;
  TABLE &opened = table();
  if (invoke_table_check_constraints(thd, &opened)) return write_.fail_as_told(Failure::constraint);
  if (opened.s->foreign_keys != 0 && use_sql_fk_checks_for_table(thd, &opened) &&
      check_all_parent_fk_ref(thd, &opened, enum_fk_dml_type::FK_INSERT))
    return fail_by_key(HA_ERR_NO_REFERENCED_ROW);
  return Step::good;
}

// --- changing and deleting -------------------------------------------------------------------------------------------

void RowChange::begin_edit() {
  WriteTable &target = *write_.table->target;
  TABLE &opened = table();
  opened.next_number_field = nullptr;
  if (target.marked == WriteTable::Marked::edit && target.marked_for == write_.table) return;
  target.marked = WriteTable::Marked::edit;
  target.marked_for = write_.table;
  if (opened.file->inited != handler::NONE) opened.file->ha_index_or_rnd_end();  // its row template is of other columns
  bitmap_set_all(&opened.def_read_set);
  bitmap_clear_all(&opened.def_write_set);
  opened.column_bitmaps_set_no_signal(&opened.def_read_set, &opened.def_write_set);
  for (const uint16_t column : write_.table->columns) bitmap_set_bit(opened.write_set, column);
  for (Field **field = opened.field; *field != nullptr; ++field)
    if ((*field)->has_update_default_datetime_value_expression())
      bitmap_set_bit(opened.write_set, position_of(**field));
  if (opened.triggers != nullptr) opened.triggers->mark_fields(TRG_EVENT_UPDATE);
  opened.mark_columns_needed_for_update(write_.thd, true);
  opened.mark_columns_needed_for_delete(write_.thd);
  opened.file->column_bitmaps_signal();
}

Step RowChange::erase() {
  THD *const thd = write_.thd;
  TABLE &opened = table();
  thd->lex->sql_command = SQLCOM_DELETE;
  const Step step = fire(TRG_EVENT_DELETE, TRG_ACTION_BEFORE);
  if (step != Step::good) return step;
  if (opened.s->foreign_key_parents != 0 && use_sql_fk_checks_for_table(thd, &opened) &&
      check_all_child_fk_ref(thd, &opened, enum_fk_dml_type::FK_DELETE))
    return fail_by_key(HA_ERR_ROW_IS_REFERENCED);
  write_.begin_change();
  if (const int code = delete_row(opened)) return write_.fail_to_change(code);
  write_.changed_row(Counter::rows_deleted);
  ++write_.outcome.changed;
  return fire(TRG_EVENT_DELETE, TRG_ACTION_AFTER);
}

Step RowChange::update() {
  TABLE &opened = table();
  write_.thd->lex->sql_command = SQLCOM_UPDATE;
  bool changed = false;
  {
    const Strict strict(write_.thd, CHECK_FIELD_WARN);
    const Step step = fill_update(changed);
    if (step != Step::good) return step;
  }
  if (changed) {
    const Step step = check_changed_row();
    if (step != Step::good) return step;
    if (changes_autoinc() && !write_.alone) return write_.leave(Progress::needs_own_run);
    write_.begin_change();
    const int code = update_row(opened);
    if (code != 0 && code != HA_ERR_RECORD_IS_THE_SAME) return write_.fail_to_change(code);
    if (code == 0) write_.changed_row(Counter::rows_updated);
    if (write_.op->verb == Verb::insert && code == 0) ++write_.outcome.changed;
  }
  // A row that had the values already counts as changed, as it always did.
  if (write_.op->verb == Verb::edit) ++write_.outcome.changed;
  return fire(TRG_EVENT_UPDATE, TRG_ACTION_AFTER);
}

Step RowChange::fill_update(bool &changed) {
  TABLE &opened = table();
  const bool before_trigger = fires(TRG_EVENT_UPDATE);
  TemporaryNulls nulls(write_.thd, before_trigger ? opened.triggers : nullptr);
  Step step = store_draft();
  if (step == Step::good) step = compute_generated_anew();
  if (step != Step::good) return step;
  changed = compare_records(&opened);
  if (changed) {
    bool any = false;
    for (Field **field = opened.field; *field != nullptr; ++field) {
      if (!(*field)->has_update_default_datetime_value_expression() || is_given(**field)) continue;
      (*field)->evaluate_update_default_function();
      any = true;
    }
    if (any) step = compute_generated();
  }
  if (step != Step::good || !before_trigger) return step;
  step = run_before_triggers(TRG_EVENT_UPDATE);
  nulls.end();
  changed = compare_records(&opened);
  return step == Step::good ? check_nulls() : step;
}

Step RowChange::check_changed_row() {
  THD *const thd = write_.thd;
  TABLE &opened = table();
  if (invoke_table_check_constraints(thd, &opened)) return write_.fail_as_told(Failure::constraint);
  if (!use_sql_fk_checks_for_table(thd, &opened)) return Step::good;
  if (opened.s->foreign_key_parents != 0 && check_all_child_fk_ref(thd, &opened, enum_fk_dml_type::FK_UPDATE))
    return fail_by_key(HA_ERR_ROW_IS_REFERENCED);
  if (opened.s->foreign_keys != 0 && check_all_parent_fk_ref(thd, &opened, enum_fk_dml_type::FK_UPDATE))
    return fail_by_key(HA_ERR_NO_REFERENCED_ROW);
  return Step::good;
}

/// Whether the AUTO_INCREMENT column gets another value. The storage engine then raises the counter under a lock that
/// it keeps until the transaction ends, and may wait for that lock with the row changed already.
bool RowChange::changes_autoinc() const {
  TABLE &opened = table();
  Field *const id = opened.found_next_number_field;
  return id != nullptr && bitmap_is_set(opened.write_set, position_of(*id)) &&
         id->cmp_binary_offset(static_cast<uint>(opened.s->rec_buff_length)) != 0;
}

Step RowChange::fire(enum_trigger_event_type event, enum_trigger_action_time_type time) {
  Table_trigger_dispatcher *const triggers = table().triggers;
  if (triggers == nullptr || !triggers->has_triggers(event, time)) return Step::good;
  const bool failed = triggers->process_triggers(write_.thd, event, time, event != TRG_EVENT_DELETE);
  return failed ? write_.fail_as_told(Failure::constraint) : Step::good;
}

/// The server has checked a foreign key itself and set the error. `code`: a storage engine's for that.
Step RowChange::fail_by_key(int code) {
  if (write_.thd->killed || write_.thd->transaction_rollback_request) return write_.fail_as_told(Failure::constraint);
  const uint error = write_.thd->is_error() ? write_.thd->get_stmt_da()->mysql_errno() : 0;
  if (error == ER_LOCK_WAIT_TIMEOUT) return write_.fail_with(HA_ERR_LOCK_WAIT_TIMEOUT);
  return write_.fail_with(code);
}

/// A generated column accepts only its computed value, or NULL where a value has to be given.
Step RowChange::fail_generated(const Field *field) {
  my_error(ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), field->field_name, field->table->s->table_name.str);
  return write_.fail_as_told(Failure::bad_value);
}

}  // namespace postern::mysqld
