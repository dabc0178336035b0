#include "engine/mariadb/basics/server.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/hosted/writes/change_row.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/computed_value.h"
#include "engine/mariadb/hosted/reads/exact_value.h"
#include "engine/mariadb/tables/row_calls.h"
#include "engine/rows/write_tables.h"

namespace postern::mariadb {
namespace {

using Duplicate = ChangeForm::Duplicate;

/// While one lives, the storage engine knows how duplicates are treated, and locks their rows accordingly.
class ToldOfDuplicates {
 public:
  ToldOfDuplicates(handler &file, Duplicate duplicate) : file_(file), duplicate_(duplicate) {
    if (duplicate == Duplicate::replace) file.extra(HA_EXTRA_WRITE_CAN_REPLACE);
    if (duplicate == Duplicate::update) file.extra(HA_EXTRA_INSERT_WITH_UPDATE);
    if (duplicate != Duplicate::refuse) file.extra(HA_EXTRA_IGNORE_DUP_KEY);
  }
  ~ToldOfDuplicates() {
    if (duplicate_ != Duplicate::refuse) file_.extra(HA_EXTRA_NO_IGNORE_DUP_KEY);
    if (duplicate_ == Duplicate::replace) file_.extra(HA_EXTRA_WRITE_CANNOT_REPLACE);
  }
  ToldOfDuplicates(const ToldOfDuplicates &) = delete;
  ToldOfDuplicates &operator=(const ToldOfDuplicates &) = delete;

 private:
  handler &file_;
  const Duplicate duplicate_;
};

/// While one lives, it receives the thread's errors and warnings, and nobody else does.
class Listener final : public Internal_error_handler {
 public:
  explicit Listener(THD *thd) : thd_(thd) { thd->push_internal_handler(this); }
  ~Listener() override { thd_->pop_internal_handler(); }
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

  bool handle_condition(THD *, uint, const char *, Sql_condition::enum_warning_level *, const char *text,
                        Sql_condition **) override {
    text_ = text;
    return true;
  }
  std::string take() { return std::move(text_); }

 private:
  THD *const thd_;
  std::string text_;
};

/// The key that the storage engine looks at last: a row that only this one is a duplicate in may become another one.
uint last_unique_key(const TABLE &table) {
  if (table.file->ha_table_flags() & HA_DUPLICATE_KEY_NOT_IN_ORDER) return MAX_KEY;
  for (uint number = table.s->keys; number != 0; --number)
    if (table.key_info[number - 1].flags & HA_NOSAME) return number - 1;
  return MAX_KEY;
}

}  // namespace

void ChangeRow::mark_for_insert() const {
  TABLE &table = *table_;
  table.next_number_field = table.found_next_number_field;
  if (target_->marked_by == change_) return;
  target_->marked_by = change_;
  if (table.file->inited != handler::NONE) table.file->ha_index_or_rnd_end();
  if (form_->changes_old_rows()) {
    bitmap_set_all(&table.def_read_set);
    bitmap_set_all(&table.def_write_set);
  } else {
    bitmap_clear_all(&table.def_read_set);
    bitmap_clear_all(&table.def_write_set);
  }
  table.column_bitmaps_set_no_signal(&table.def_read_set, &table.def_write_set);
  for (const uint16_t at : change_->columns) bitmap_set_bit(table.write_set, at);
  table.mark_columns_needed_for_insert();
  compat::prepare_for_writes(*table.file);
  table.file->column_bitmaps_signal();
}

std::optional<NotNow> ChangeRow::insert(Changed &changed) {
  TABLE &table = *table_;
  handler &file = *table.file;
  if (target_->autoinc_may_be_held()) return NotNow::row_locked;
  worker_->lex->sql_command = command_of(*form_);
  // Default values of one statement are computed once, in one time zone.
  if (worker_ != session_) worker_->set_query_id(next_query_id());
  mark_for_insert();
  const bool several = form_->new_rows.size() > 1;
  if (several) {
    if (const auto why = try_rows()) return why;
    if (has_drawn()) worker_->get_stmt_da()->clear_warning_info(worker_->query_id);  // the rows draw them again
  }
  std::optional<NotNow> why;
  {
    const ToldOfDuplicates told(file, form_->duplicate);
    // Ids are reserved for the statement, which gets them in a row.
    if (several) file.ha_start_bulk_insert(form_->new_rows.size());
    for (size_t i = 0; i < form_->new_rows.size() && !why; ++i) why = insert_row(i, changed);
    lost_ |= why && changed.wrote;  // some rows exist already
    if (several && file.ha_end_bulk_insert() != 0) lost_ = true;
    file.ha_release_auto_increment();
  }
  table.next_number_field = nullptr;
  table.auto_increment_field_not_null = false;
  return why;
}

/// Whether all rows might be inserted; nothing has happened yet.
std::optional<NotNow> ChangeRow::try_rows() {
  bool first_has_id = false;
  for (size_t i = 0; i < form_->new_rows.size(); ++i) {
    if (const auto why = try_row(form_->new_rows[i])) return why;
    // The server reserves more where some have ids and some have none.
    if (i == 0) first_has_id = table_->auto_increment_field_not_null;
    if (first_has_id != table_->auto_increment_field_not_null) return NotNow::value;
  }
  return std::nullopt;
}

/// Whether the row might be inserted; it is filled, and nothing has happened yet.
std::optional<NotNow> ChangeRow::try_row(const std::vector<FormValue> &row) {
  if (const auto why = fill_new(row)) return why;
  if (const auto why = check_filled()) return why;
  // Before an id is generated: the server, which reports the error, would generate the next one, too.
  const bool generates = table_->next_number_field != nullptr && !table_->auto_increment_field_not_null;
  if (!generates) return std::nullopt;
  // In a transaction of the session's own a duplicate is reported here, and looking would lock gaps between keys.
  if (worker_ != session_) return look_for_duplicate(row);
  return form_->duplicate == Duplicate::update ? try_constants(row) : std::nullopt;
}

std::optional<NotNow> ChangeRow::check_filled() const {
  if (table_->verify_constraints(false) != VIEW_CHECK_OK) return NotNow::row_refused;
  return drew_warnings() ? NotNow::warning : may_return();
}

std::optional<NotNow> ChangeRow::look_for_duplicate(const std::vector<FormValue> &row) {
  TABLE &table = *table_;
  for (uint number = 0; number < table.s->keys; ++number) {
    KEY &key = table.key_info[number];
    const auto generated_or_null = [&](const KEY_PART_INFO &part) {
      return part.field == table.next_number_field || part.field->is_null();
    };
    if (!(key.flags & HA_NOSAME) ||
        std::any_of(key.key_part, key.key_part + key.user_defined_key_parts, generated_or_null))
      continue;
    const int code = read_by_key(number);
    if (code == 0) return try_duplicate(row);
    if (code != HA_ERR_KEY_NOT_FOUND && code != HA_ERR_END_OF_FILE) return failed(code, false);
  }
  return std::nullopt;
}

/// The result for the existing row in record[1].
std::optional<NotNow> ChangeRow::try_duplicate(const std::vector<FormValue> &row) {
  if (form_->duplicate == Duplicate::refuse) return NotNow::row_refused;
  if (form_->duplicate != Duplicate::update) return std::nullopt;
  const std::optional<NotNow> why = fill_duplicate();
  return !why ? fill_new(row) : why;
}

/// Whether columns accept their new values if the row exists, as far as known without it.
std::optional<NotNow> ChangeRow::try_constants(const std::vector<FormValue> &row) {
  keep_new_row();
  for (size_t i = 0; i < form_->assignments.size(); ++i) {
    const ResolvedAssignment &resolved = change_->assignments[i];
    if (form_->assignments[i].how != FormAssignment::How::set) continue;
    const std::optional<NotNow> why = assign(form_->assignments[i], resolved, *table_->field[resolved.field]);
    if (why) return why;
  }
  return drew_warnings() ? NotNow::warning : fill_new(row);
}

/// Reads the row of record[0], or the one with an equal value in that key, into record[1].
int ChangeRow::read_by_key(uint number) {
  TABLE &table = *table_;
  KEY &key = table.key_info[number];
  key_.resize(key.key_length);
  key_copy(key_.data(), table.record[0], &key, 0);
  return table.file->ha_index_read_idx_map(table.record[1], number, key_.data(), HA_WHOLE_KEY, HA_READ_KEY_EXACT);
}

// --- one row, as Write_record does it --------------------------------------------------------------------------------

std::optional<NotNow> ChangeRow::insert_row(size_t at, Changed &changed) {
  TABLE &table = *table_;
  worker_->get_stmt_da()->reset_current_row_for_warning(static_cast<ulong>(at) + 1);
  if (const auto why = try_row(form_->new_rows[at])) return why;
  const ulonglong next_id = table.file->next_insert_id;
  int code = write(changed);
  std::optional<NotNow> why;
  if (code == HA_ERR_FOUND_DUPP_KEY && form_->duplicate == Duplicate::ignore) {
    pass_over(at, next_id, changed);
  } else if (code == HA_ERR_FOUND_DUPP_KEY && form_->duplicate == Duplicate::update) {
    why = update_duplicate(next_id, changed);
  } else {
    if (code == HA_ERR_FOUND_DUPP_KEY && form_->duplicate == Duplicate::replace) why = replace(code, changed);
    if (!why && code != 0) why = failed(code, true);
    if (!why) why = inserted(changed);
  }
  if (table.next_number_field != nullptr) changed.last_id = static_cast<uint64_t>(table.next_number_field->val_int());
  return !why && drew_warnings() ? NotNow::warning : why;
}

int ChangeRow::write(Changed &changed) {
  ++changed.writes;
  const int code = mariadb::insert_row(*table_);
  if (code == 0) note_change(changed);
  return code;
}

void ChangeRow::note_replaced(Changed &changed) {
  ++changed.replaced;
  note_change(changed);
}

std::optional<NotNow> ChangeRow::inserted(Changed &changed) {
  ++changed.changed;
  if (changed.insert_id == 0) changed.insert_id = table_->file->insert_id_for_cur_row;
  return return_row(changed);
}

/// The server warns that the row is there, and goes on.
void ChangeRow::pass_over(size_t at, ulonglong next_id, Changed &changed) {
  TABLE &table = *table_;
  if (!(session_->variables.old_behavior & OLD_MODE_NO_DUP_KEY_WARNINGS_WITH_IGNORE)) {
    Listener listener(worker_);
    const uint number = table.file->get_dup_key(HA_ERR_FOUND_DUPP_KEY);
    print_keydup_error(&table, number < table.s->keys ? &table.key_info[number] : nullptr,
                       ER_THD(session_, ER_DUP_ENTRY_WITH_KEY_NAME), MYF(ME_WARNING));
    changed.passed_over.push_back({.row = at + 1, .why = listener.take()});
  }
  table.file->restore_auto_increment(next_id);
}

std::optional<NotNow> ChangeRow::update_duplicate(ulonglong next_id, Changed &changed) {
  TABLE &table = *table_;
  handler &file = *table.file;
  const uint number = file.get_dup_key(HA_ERR_FOUND_DUPP_KEY);
  if (number >= table.s->keys) return NotNow::row_refused;
  if (const int code = read_by_key(number); code != 0) return failed(code, false);
  ++changed.duplicates;
  if (const auto why = fill_duplicate()) return why;
  tell_id(changed);
  file.restore_auto_increment(next_id);
  ulonglong generated = 0;
  if (compare_record(&table)) {
    ++changed.updates;
    const int code = update_row(table);
    if (code != 0 && code != HA_ERR_RECORD_IS_THE_SAME) return failed(code, true);
    if (code == 0) note_replaced(changed);
    generated = std::exchange(file.insert_id_for_cur_row, 0);
    ++changed.changed;
  }
  // The id that was generated for this row is the next one's.
  if (table.next_number_field != nullptr && names_id())
    file.adjust_next_insert_id_after_explicit_value(static_cast<ulonglong>(table.next_number_field->val_int()));
  else if (generated != 0) file.restore_auto_increment(generated);
  return return_row(changed);
}

/// LAST_INSERT_ID(c) is unsigned: the server refuses or rounds it where the column has a number below zero, and takes
/// NULL for 0.
bool ChangeRow::may_tell_id() const {
  for (size_t i = 0; i < form_->assignments.size(); ++i) {
    if (form_->assignments[i].how != FormAssignment::How::tell) continue;
    Field &field = *table_->field[change_->assignments[i].field];
    if (field.is_null() || (!field.is_unsigned() && field.val_int() < 0)) return false;
  }
  return true;
}

void ChangeRow::tell_id(Changed &changed) const {
  for (size_t i = 0; i < form_->assignments.size(); ++i)
    if (form_->assignments[i].how == FormAssignment::How::tell)
      changed.told_id = static_cast<uint64_t>(table_->field[change_->assignments[i].field]->val_int());
}

/// Whether ON DUPLICATE KEY UPDATE names the column of ids, which keeps its value.
bool ChangeRow::names_id() const {
  return std::ranges::any_of(change_->assignments, [this](const ResolvedAssignment &one) {
    return table_->field[one.field] == table_->next_number_field;
  });
}

/// Fills record[0] from the row that is there, which record[1] has, and the new one.
std::optional<NotNow> ChangeRow::fill_duplicate() {
  keep_new_row();
  restore_record(table_, record[1]);
  if (!may_tell_id()) return NotNow::row_refused;
  if (const auto why = fill()) return why;
  return check_filled();
}

void ChangeRow::keep_new_row() {
  new_row_.assign(table_->record[0], table_->record[0] + table_->s->reclength);
}

/// Deletes the rows that conflict with the new one, or changes the last of them into it. `code`: that of the first
/// write.
std::optional<NotNow> ChangeRow::replace(int &code, Changed &changed) {
  TABLE &table = *table_;
  handler &file = *table.file;
  const uint last = last_unique_key(table);
  ulonglong generated = 0;
  for (; code != 0; code = write(changed)) {
    if (file.insert_id_for_cur_row != 0) generated = file.insert_id_for_cur_row;
    else file.insert_id_for_cur_row = generated;
    if (code != HA_ERR_FOUND_DUPP_KEY) return std::nullopt;  // the caller's
    const uint number = file.get_dup_key(code);
    const bool by_id = table.next_number_field != nullptr && number == table.s->next_number_index && generated != 0;
    if (number >= table.s->keys || by_id) return std::nullopt;
    if (const int failure = read_by_key(number); failure != 0) return failed(failure, false);
    ++changed.duplicates;
    if (number == last) {
      ++changed.updates;
      code = update_row(table);
      if (code == 0) note_replaced(changed);
      if (code == HA_ERR_RECORD_IS_THE_SAME) code = 0;
      break;
    }
    ++changed.deletes;
    if (const int failure = delete_old_row(table); failure != 0) return failed(failure, true);
    note_replaced(changed);
  }
  if (file.insert_id_for_cur_row == 0) file.insert_id_for_cur_row = generated;
  return std::nullopt;
}

// --- values ----------------------------------------------------------------------------------------------------------

std::optional<NotNow> ChangeRow::fill_new(const std::vector<FormValue> &row) {
  TABLE &table = *table_;
  restore_default_record_for_insert(&table);
  table.reset_default_fields();
  table.auto_increment_field_not_null = false;
  for (size_t i = 0; i < row.size(); ++i) {
    Field &field = *table.field[change_->columns[i]];
    if (&field == table.next_number_field) {
      if (!store_id(row[i], field)) return NotNow::warning;
      continue;
    }
    if (row[i].from == FormValue::From::standard) continue;
    Value value;
    const bool is_time = row[i].from == FormValue::From::time;
    if (!is_time && !value_of(row[i], values_, value)) return NotNow::value;
    if (is_time ? !store_time(field, row[i], values_) : !store(field, value)) return NotNow::warning;
    field.set_has_explicit_value();
  }
  if (table.default_field != nullptr && table.update_default_fields(false)) return NotNow::warning;
  return drew_warnings() ? std::optional(NotNow::warning) : std::nullopt;
}

/// NULL and DEFAULT have one generated, and so has 0 where the sql_mode does not keep it.
bool ChangeRow::store_id(const FormValue &place, Field &id) const {
  if (place.from == FormValue::From::standard) return !(session_->variables.sql_mode & MODE_NO_AUTO_VALUE_ON_ZERO);
  Value value;
  if (!value_of(place, values_, value)) return false;
  if (value.is_null()) return true;
  if (!store(id, value)) return false;
  table_->auto_increment_field_not_null =
      id.val_int() != 0 || (session_->variables.sql_mode & MODE_NO_AUTO_VALUE_ON_ZERO) != 0;
  id.set_has_explicit_value();
  return true;
}

/// VALUES(column), as it is in the record of the new row. Nothing has been stored in the column since.
void ChangeRow::copy_given(Field &field) const {
  const uchar *const record = table_->record[0];
  if (field.real_maybe_null()) {
    if (new_row_[static_cast<size_t>(field.null_ptr - record)] & field.null_bit) field.set_null();
    else field.set_notnull();
  }
  std::copy_n(new_row_.data() + (field.ptr - record), field.pack_length(), field.ptr);
}

Value ChangeRow::given_integer(Field &field) const {
  const my_ptrdiff_t offset = new_row_.data() - table_->record[0];
  field.move_field_offset(offset);
  const longlong integer = field.val_int();
  const bool is_null = field.is_null();
  field.move_field_offset(-offset);
  if (is_null) return {};
  return field.is_unsigned() ? Value::of_natural(static_cast<uint64_t>(integer)) : Value::of_integer(integer);
}

}  // namespace postern::mariadb
