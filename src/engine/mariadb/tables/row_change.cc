#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/tables/row_calls.h"
#include "engine/mariadb/tables/row_change.h"

namespace postern::mariadb {
namespace {

/// The n-th change as an expression, on the THD's memory.
Item *item_of(const RowDraft &draft, size_t change, THD *thd, const Field *field) {
  MEM_ROOT *const memory = thd->mem_root;
  if (const my_decimal *const number = draft.decimal(change)) return new (memory) Item_decimal(thd, number);
  if (const double *const number = draft.real(change)) return new (memory) Item_float(thd, *number, NOT_FIXED_DEC);
  const Value &value = draft.value(change);
  switch (value.kind()) {
    case Value::Kind::null: return new (memory) Item_null(thd);
    case Value::Kind::bytes: {
      const Bytes text = value.bytes();
      const CHARSET_INFO *const charset = charset_of_values(field, draft.unicode());
      ends_within_a_character(field, charset, text);  // evaluating the item reports the error
      return new (memory) Item_string(thd, text.data(), static_cast<uint>(text.size()), charset, DERIVATION_COERCIBLE);
    }
    case Value::Kind::integer: return new (memory) Item_int(thd, static_cast<longlong>(value.integer()));
    case Value::Kind::natural: return new (memory) Item_uint(thd, static_cast<ulonglong>(value.natural()));
  }
  return nullptr;
}

}  // namespace

RowChange::RowChange(WriteOp &write) : write_(write), items_(&item_memory_, Query_arena::STMT_CONVENTIONAL_EXECUTION) {
  init_alloc_root(PSI_NOT_INSTRUMENTED, &item_memory_, 4096, 0, MYF(0));
}

RowChange::~RowChange() {
  free_root(&item_memory_, MYF(0));
}

void RowChange::end() {
  write_.thd->abort_on_warning = false;
  write_.thd->count_cuted_fields = CHECK_FIELD_IGNORE;
  forget_items();
  skipped_ = false;
  draft.give_back();
}

bool RowChange::fills_by_items() const {
  return has_triggers() || write_.table->table->versioned();
}

void RowChange::begin_insert(std::span<const Value> values) {
  write_.thd->lex->sql_command = SQLCOM_INSERT;
  announce(TRG_EVENT_INSERT);
  draft.begin(*write_.table, values);
  mark_for_insert();
}

void RowChange::mark_for_insert() {
  WriteTable &target = *write_.table->target;
  TABLE *const table = write_.table->table;
  table->next_number_field = table->found_next_number_field;
  if (target.marked == WriteTable::Marked::insert && target.marked_for == write_.table &&
      target.marked_values == draft.size())
    return;
  target.marked = WriteTable::Marked::insert;
  target.marked_for = write_.table;
  target.marked_values = draft.size();
  target.rest_is_good = false;
  bitmap_clear_all(&table->def_read_set);
  bitmap_clear_all(&table->def_write_set);
  table->column_bitmaps_set_no_signal(&table->def_read_set, &table->def_write_set);
  for (size_t i = 0; i < draft.size(); ++i) bitmap_set_bit(table->write_set, draft.field(i));
  table->prepare_triggers_for_insert_stmt_or_event();
  table->mark_columns_needed_for_insert();
  compat::prepare_for_writes(*table->file);
  table->file->column_bitmaps_signal();
}

/// Stores the draft's values in their columns. An update must not see next_number_field.
inline Step RowChange::store_draft() {
  TABLE *const table = write_.table->table;
  for (size_t i = 0; i < draft.size(); ++i) {
    Field *const field = table->field[draft.field(i)];
    if (field->vcol_info != nullptr) {
      if (!draft.is_null(i)) return fail_generated(field);
      continue;
    }
    if (field == table->next_number_field) table->auto_increment_field_not_null = true;
    draft.store(i, field);
    if (write_.thd->is_error()) return write_.fail_as_told(Failure::bad_value);
    field->set_has_explicit_value();
  }
  return Step::good;
}

Step RowChange::fill_new_row() {
  TABLE *const table = write_.table->table;
  write_.thd->count_cuted_fields = CHECK_FIELD_ERROR_FOR_NULL;
  write_.thd->abort_on_warning = true;
  if (WriteTable &target = *write_.table->target; !target.rest_is_good) {
    // If a BEFORE trigger may fill them in, columns without a value are checked after it.
    if (table->field == table->field_to_fill() &&
        check_that_all_fields_are_given_values(write_.thd, table, table->pos_in_table_list))
      return write_.fail_as_told(Failure::bad_value);
    if (table->validate_default_values_of_unset_fields(write_.thd)) return write_.fail_as_told(Failure::bad_value);
    target.rest_is_good = true;
  }
  restore_default_record_for_insert(table);
  table->reset_default_fields();
  if (fills_by_items()) {
    const Step step = fill_by_items(TRG_EVENT_INSERT);
    if (step != Step::good || skipped_) return step;
  } else {
    table->auto_increment_field_not_null = false;
    const Step step = store_draft();
    if (step != Step::good) return step;
    if (table->default_field != nullptr && table->update_default_fields(false))
      return write_.fail_as_told(Failure::bad_value);
    if (table->vfield != nullptr && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE))
      return write_.fail_as_told(Failure::bad_value);
  }
  if (table->verify_constraints(false) != VIEW_CHECK_OK) return write_.fail_as_told(Failure::constraint);
  return Step::good;
}

void RowChange::begin_edit() {
  WriteTable &target = *write_.table->target;
  TABLE *const table = write_.table->table;
  table->next_number_field = nullptr;
  if (target.marked == WriteTable::Marked::edit && target.marked_for == write_.table) return;
  target.marked = WriteTable::Marked::edit;
  target.marked_for = write_.table;
  if (table->file->inited != handler::NONE) table->file->ha_index_or_rnd_end();  // its row template is of other columns
  bitmap_set_all(&table->def_read_set);
  bitmap_clear_all(&table->def_write_set);
  table->column_bitmaps_set_no_signal(&table->def_read_set, &table->def_write_set);
  for (const uint16_t column : write_.table->columns) bitmap_set_bit(table->write_set, column);
  table->prepare_triggers_for_update_stmt_or_event();
  table->prepare_triggers_for_delete_stmt_or_event();
  table->mark_columns_needed_for_update();
  if (has_triggers()) table->mark_columns_needed_for_delete();
  compat::prepare_for_writes(*table->file);
  table->file->column_bitmaps_signal();
}

Step RowChange::erase() {
  TABLE *const table = write_.table->table;
  write_.thd->lex->sql_command = SQLCOM_DELETE;
  announce(TRG_EVENT_DELETE);
  Step step = fire(TRG_EVENT_DELETE, TRG_ACTION_BEFORE);
  if (step != Step::good || skipped_) return step;
  write_.begin_change();
  if (const int code = delete_row(*table)) return write_.fail_to_change(code);
  write_.changed_row(Counter::rows_deleted);
  ++write_.outcome.changed;
  return fire(TRG_EVENT_DELETE, TRG_ACTION_AFTER);
}

/// Changes the row in record[0] by the draft; record[1] is a copy of it.
Step RowChange::update() {
  TABLE *const table = write_.table->table;
  write_.thd->count_cuted_fields = CHECK_FIELD_WARN;
  write_.thd->abort_on_warning = true;
  write_.thd->lex->sql_command = SQLCOM_UPDATE;
  announce(TRG_EVENT_UPDATE);
  table->reset_default_fields();
  Step step = fill_update();
  if (step != Step::good || skipped_) return step;
  // SQL gives a versioned row a history even where nothing changes.
  if (table->versioned() || compare_record(table)) {
    if (table->verify_constraints(false) != VIEW_CHECK_OK) return write_.fail_as_told(Failure::constraint);
    if (changes_autoinc() && !write_.alone) return write_.leave(Progress::needs_own_run);
    write_.begin_change();
    const int code = update_row(*table);
    if (code != 0 && code != HA_ERR_RECORD_IS_THE_SAME) return write_.fail_to_change(code);
    if (code == 0) write_.changed_row(Counter::rows_updated);
    if (write_.op->verb == Verb::insert && code == 0) ++write_.outcome.changed;
  }
  // A row that had the values already counts as changed, as it always did.
  if (write_.op->verb == Verb::edit) ++write_.outcome.changed;
  step = keep_history();
  if (step != Step::good) return step;
  return fire(TRG_EVENT_UPDATE, TRG_ACTION_AFTER);
}

bool RowChange::may_put_off() const {
  const TABLE &table = *write_.table->table;
  return !fills_by_items() && table.vfield == nullptr && table.default_field == nullptr &&
         table.check_constraints == nullptr && table.found_next_number_field == nullptr;
}

Step RowChange::put_off() {
  write_.thd->count_cuted_fields = CHECK_FIELD_WARN;
  write_.thd->abort_on_warning = true;
  write_.table->table->reset_default_fields();
  if (write_.op->verb == Verb::edit) ++write_.outcome.changed;
  return store_draft();
}

Step RowChange::store_put_off() {
  TABLE *const table = write_.table->table;
  write_.thd->lex->sql_command = SQLCOM_UPDATE;
  if (!compare_record(table)) return Step::good;
  write_.begin_change();
  const int code = update_row(*table);
  if (code != 0 && code != HA_ERR_RECORD_IS_THE_SAME) return write_.fail_to_change(code);
  if (code == 0) write_.changed_row(Counter::rows_updated);
  return Step::good;
}

/// Whether the AUTO_INCREMENT column gets another value. The storage engine then raises the counter under a lock that
/// it keeps until the transaction ends, and may wait for that lock with the row changed already.
bool RowChange::changes_autoinc() const {
  TABLE *const table = write_.table->table;
  Field *const id = table->found_next_number_field;
  return id != nullptr && bitmap_is_set(table->write_set, id->field_index) &&
         id->cmp_binary_offset(static_cast<uint>(table->s->rec_buff_length)) != 0;
}

Step RowChange::fill_update() {
  TABLE *const table = write_.table->table;
  if (fills_by_items()) return fill_by_items(TRG_EVENT_UPDATE);
  const Step step = store_draft();
  if (step != Step::good) return step;
  table->evaluate_update_default_function();
  if (table->vfield != nullptr && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE))
    return write_.fail_as_told(Failure::bad_value);
  return Step::good;
}

/// The row as it was, for a table that keeps its history.
Step RowChange::keep_history() {
  TABLE *const table = write_.table->table;
  if (!table->versioned(VERS_TIMESTAMP) || !table->vers_check_update(fields_)) return Step::good;
  store_record(table, record[2]);
  table->mark_columns_per_binlog_row_image();
  write_.begin_change();
  const int code = vers_insert_history_row(table);
  restore_record(table, record[2]);
  return code == 0 ? Step::good : write_.fail_to_change(code);
}

/// Sets the event that the storage engine expects for the row: with several events it would leave foreign keys of
/// versioned rows unchecked.
void RowChange::announce(int event) {
  if (write_.alone) write_.table->table->pos_in_table_list->trg_event_map = trg2bit(static_cast<trg_event_type>(event));
}

/// Fills record[0] as SQL does, including BEFORE triggers.
Step RowChange::fill_by_items(int event) {
  forget_items();
  Query_arena of_statement;
  write_.thd->set_n_backup_active_arena(&items_, &of_statement);
  list_items();
  skipped_ = false;
  const bool failed = compat::fill_record(write_.thd, *write_.table->table, fields_, values_,
                                          static_cast<trg_event_type>(event), skipped_);
  write_.thd->restore_active_arena(&items_, &of_statement);
  return failed || write_.thd->is_error() ? write_.fail_as_told(Failure::bad_value) : Step::good;
}

void RowChange::forget_items() {
  fields_.empty();
  values_.empty();
  items_.free_items();
  free_root(&item_memory_, MYF(MY_KEEP_PREALLOC));
}

/// Converts the draft for the server's own functions.
void RowChange::list_items() {
  Field **const fields = write_.table->table->field_to_fill();
  for (size_t i = 0; i < draft.size(); ++i) {
    Field *const field = fields[draft.field(i)];
    fields_.push_back(new (write_.thd->mem_root) Item_field(write_.thd, field), write_.thd->mem_root);
    values_.push_back(item_of(draft, i, write_.thd, field), write_.thd->mem_root);
  }
}

Step RowChange::fire_triggers(int event, int time) {
  const auto action = static_cast<trg_action_time_type>(time);
  const auto on = static_cast<trg_event_type>(event);
  skipped_ = false;
  if (!compat::fire_triggers(write_.thd, *write_.table->table, on, action, on != TRG_EVENT_DELETE, skipped_))
    return Step::good;
  return write_.fail_as_told(Failure::constraint);
}

/// A generated column accepts only its computed value, or NULL where a value has to be given.
Step RowChange::fail_generated(const Field *field) {
  my_error(ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), field->field_name.str,
           field->table->s->table_name.str);
  return write_.fail_as_told(Failure::bad_value);
}

}  // namespace postern::mariadb
