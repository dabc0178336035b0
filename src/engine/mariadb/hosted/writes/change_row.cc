#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/change_row.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/limits.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/computed_value.h"
#include "engine/mariadb/hosted/reads/exact_value.h"
#include "engine/mariadb/hosted/writes/resolve_change.h"
#include "engine/mariadb/hosted/writes/servers_walk.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/mariadb/tables/row_calls.h"
#include "engine/rows/write_tables.h"

namespace postern::mariadb {
namespace {

/// While one lives, the worker's open tables convert values as the session would: by its sql_mode and its time zone. A
/// value that a column cannot store only raises a warning; a rounded one raises a note.
class InManner {
 public:
  InManner(THD *worker, const THD *session)
      : worker_(worker),
        sql_mode_(worker->variables.sql_mode),
        old_behavior_(worker->variables.old_behavior),
        time_zone_(worker->variables.time_zone) {
    worker->variables.sql_mode = session->variables.sql_mode;
    worker->variables.old_behavior = session->variables.old_behavior;
    worker->variables.time_zone = session->variables.time_zone;
    worker->count_cuted_fields = CHECK_FIELD_WARN;
    worker->abort_on_warning = false;
  }
  /// Leaves the notes to the session, in its own statement.
  void keep_notes() { keeps_notes_ = true; }
  ~InManner() {
    worker_->variables.sql_mode = sql_mode_;
    worker_->variables.old_behavior = old_behavior_;
    worker_->variables.time_zone = time_zone_;
    worker_->count_cuted_fields = CHECK_FIELD_IGNORE;
    if (keeps_notes_) return;
    if (worker_->is_error()) worker_->clear_error(true);
    if (worker_->get_stmt_da()->current_statement_warn_count() != 0)
      worker_->get_stmt_da()->clear_warning_info(worker_->query_id);
  }
  InManner(const InManner &) = delete;
  InManner &operator=(const InManner &) = delete;

 private:
  THD *const worker_;
  const sql_mode_t sql_mode_;
  const decltype(THD::variables.old_behavior) old_behavior_;
  Time_zone *const time_zone_;
  bool keeps_notes_ = false;
};

RowReads reads_of(const THD *thd, const TABLE &table) {
  const STATUS_VAR &counts = thd->status_var;
  return {.keys = counts.ha_read_key_count,
          .firsts = counts.ha_read_first_count,
          .nexts = counts.ha_read_next_count,
          .rows = compat::rows_read(*table.file)};
}

}  // namespace

std::optional<NotNow> ChangeRow::run(THD *worker, THD *session, WriteTable &target, const ChangeForm &form,
                                     const ResolvedChange &change, std::span<const Value> values, Changed &changed) {
  worker_ = worker;
  session_ = session;
  target_ = &target;
  table_ = target.table;
  form_ = &form;
  change_ = &change;
  values_ = values;
  lost_ = false;
  code_ = 0;
  failed_to_find_ = false;
  InManner manner(worker, session);
  std::optional<NotNow> why = form.what == ChangeForm::What::insert ? insert(changed) : change_old(changed);
  if (worker == session && (!why || why == NotNow::row_refused)) manner.keep_notes();
  return why;
}

std::optional<NotNow> ChangeRow::change_old(Changed &changed) {
  if (!is_limited_to_rows() || !has_constant_order()) return NotNow::value;
  worker_->lex->sql_command = form_->what == ChangeForm::What::update ? SQLCOM_UPDATE : SQLCOM_DELETE;
  mark();
  // Before the index is opened: to estimate rows of another one InnoDB makes that the handler's index.
  const auto find = [this](std::span<const ResolvedRead> walks) {
    return servers_walk(session_, *table_, form_->rows, walks, values_, walk_);
  };
  rows_ = change_->walks.empty() ? &change_->rows : find(change_->walks);
  const bool rivals = worker_ == session_ && !change_->rivals.empty();
  if (rows_ == nullptr || (rivals && find(change_->rivals) != &change_->rivals[0])) return NotNow::other_index;
  std::optional<NotNow> why = walk_.open(session_, *table_, form_->rows, *rows_, values_);
  if (!why) why = change_all(changed);
  // For an update that no row can meet the server does not say how many rows it has matched.
  if (!why && changed.found == 0 && tests_a_column_twice(change_->rows)) why = NotNow::value;
  const RowReads reads = reads_of(worker_, *table_);
  changed.reads = {.keys = reads.keys - before_.keys,
                   .firsts = reads.firsts - before_.firsts,
                   .nexts = reads.nexts - before_.nexts,
                   .rows = reads.rows - before_.rows};
  changed.examined = walk_.examined();
  walk_.close();
  return why;
}

/// The server refuses a limit that is no number, and reads nothing with LIMIT 0.
bool ChangeRow::is_limited_to_rows() const {
  if (!form_->rows.limit) return true;
  Value limit;
  if (!value_of(*form_->rows.limit, values_, limit)) return false;
  if (limit.kind() == Value::Kind::natural) return limit.natural() != 0;
  return limit.kind() == Value::Kind::integer && limit.integer() > 0;
}

/// Whether the server finds that the ORDER BY is of constants: it does where both sides of `=` have one type and one
/// collation.
bool ChangeRow::has_constant_order() const {
  return std::ranges::all_of(change_->orders, [this](const ResolvedCondition &order) {
    const Field &field = *table_->field[order.field];
    const FormValue &place = form_->rows.conditions[order.condition].values[0];
    Value value;
    if (place.from == FormValue::From::time || !value_of(place, values_, value)) return false;
    if (compared_as(order.exact, value) != ComparedAs::column) return false;
    if (order.exact != Exact::text && order.exact != Exact::binary_fixed) return true;
    return value.kind() == Value::Kind::bytes && value.spelling() == Value::Spelling::text &&
           field.charset() == session_->variables.collation_connection;
  });
}

/// Marks the columns that are read and written, for the binary log and the storage engine.
void ChangeRow::mark() const {
  TABLE &table = *table_;
  table.next_number_field = nullptr;  // an update knows none
  if (target_->marked_by == change_) return;
  target_->marked_by = change_;
  if (table.file->inited != handler::NONE) table.file->ha_index_or_rnd_end();
  bitmap_set_all(&table.def_read_set);
  bitmap_clear_all(&table.def_write_set);
  table.column_bitmaps_set_no_signal(&table.def_read_set, &table.def_write_set);
  for (const ResolvedAssignment &one : change_->assignments) bitmap_set_bit(table.write_set, one.field);
  if (form_->what == ChangeForm::What::update) table.mark_columns_needed_for_update();
  else table.mark_columns_needed_for_delete();
  compat::prepare_for_writes(*table.file);
  table.file->column_bitmaps_signal();
}

std::optional<NotNow> ChangeRow::change_all(Changed &changed) {
  const bool several = change_->rows.way != ReadWay::one;
  if (worker_ != session_ && several) {
    if (const auto why = lock_all()) return why;
  } else {
    walk_.unlock_passed(true);
  }
  before_ = reads_of(worker_, *table_);
  do {
    const std::optional<NotNow> why = change_next(changed);
    if (!why) continue;
    // Earlier changes are undone with the transaction, or, in the session's own, with the statement.
    lost_ |= changed.wrote;
    return why;
  } while (walk_.code() == 0 && several);
  return std::nullopt;
}

/// Locks all rows before the first is changed: meeting a locked row later would undo the others' transaction. So those
/// that are not changed stay locked, too, until the transaction is committed at the end of the turn.
std::optional<NotNow> ChangeRow::lock_all() {
  while (walk_.next() == 0) {
    if (walk_.examined() > rows_max) return NotNow::too_much;
  }
  if (walk_.code() != HA_ERR_END_OF_FILE) return failed(walk_.code(), false);
  walk_.close();
  return walk_.open(session_, *table_, form_->rows, *rows_, values_);
}

std::optional<NotNow> ChangeRow::change_next(Changed &changed) {
  const int code = walk_.next();
  if (code == HA_ERR_END_OF_FILE) return std::nullopt;
  failed_to_find_ = code != 0;
  if (code != 0) return failed(code, false);
  if (++changed.found > rows_max) return NotNow::too_much;
  return form_->what == ChangeForm::What::update ? update(changed) : erase(changed);
}

std::optional<NotNow> ChangeRow::erase(Changed &changed) {
  if (const auto why = may_return()) return why;
  if (const auto why = return_row(changed)) return why;
  if (const int code = delete_row(*table_); code != 0) return failed(code, true);
  ++changed.changed;
  note_change(changed);
  return std::nullopt;
}

std::optional<NotNow> ChangeRow::update(Changed &changed) {
  TABLE &table = *table_;
  store_record(&table, record[1]);
  worker_->get_stmt_da()->reset_current_row_for_warning(static_cast<ulong>(walk_.examined()));
  if (const auto why = fill()) return why;
  if (!compare_record(&table)) return std::nullopt;
  if (table.verify_constraints(false) != VIEW_CHECK_OK) return NotNow::row_refused;
  if (drew_warnings()) return NotNow::warning;
  if (changes_autoinc()) return NotNow::alone;
  const int code = update_row(table);
  if (code == HA_ERR_RECORD_IS_THE_SAME) return std::nullopt;
  if (code != 0) return failed(code, true);
  ++changed.changed;
  note_change(changed);
  return std::nullopt;
}

/// Called before the row in record[0] is written, or gets a generated id: later is too late.
std::optional<NotNow> ChangeRow::may_return() const {
  if (!form_->returns()) return std::nullopt;
  const size_t bytes_max = limits::find_bytes_fast_max / std::max<size_t>(form_->new_rows.size(), 1);
  return bytes_of_row(*table_, change_->rows.columns) > bytes_max ? std::optional(NotNow::too_much) : std::nullopt;
}

std::optional<NotNow> ChangeRow::return_row(Changed &changed) {
  if (!form_->returns()) return std::nullopt;
  return changed.returned.add(session_, *table_, change_->rows.columns) ? std::nullopt
                                                                        : std::optional(NotNow::read_failed);
}

void ChangeRow::note_change(Changed &changed) {
  changed.wrote = true;
  target_->changed = true;
}

/// As RowChange::changes_autoinc().
bool ChangeRow::changes_autoinc() const {
  Field *const id = table_->found_next_number_field;
  return id != nullptr && bitmap_is_set(table_->write_set, id->field_index) &&
         id->cmp_binary_offset(static_cast<uint>(table_->s->rec_buff_length)) != 0;
}

// --- values ----------------------------------------------------------------------------------------------------------

std::optional<NotNow> ChangeRow::fill() {
  TABLE &table = *table_;
  table.reset_default_fields();
  for (size_t i = 0; i < form_->assignments.size(); ++i) {
    const FormAssignment &assignment = form_->assignments[i];
    const ResolvedAssignment &resolved = change_->assignments[i];
    Field &field = *table.field[resolved.field];
    if (const auto why = assign(assignment, resolved, field)) return why;
    field.set_has_explicit_value();
  }
  table.evaluate_update_default_function();
  return drew_warnings() ? std::optional(NotNow::warning) : std::nullopt;
}

bool store_null(Field &field) {
  if (!field.real_maybe_null()) return false;
  field.set_null();
  field.reset();
  return true;
}

std::optional<NotNow> ChangeRow::assign(const FormAssignment &assignment, const ResolvedAssignment &resolved,
                                        Field &field) const {
  using How = FormAssignment::How;
  const bool computes = assignment.how == How::add || assignment.how == How::subtract;
  if (!computes && assignment.how != How::set) {  // it has its value
    // The server stores NULL anew, with zeros after it where the row that was read has the default: so it counts a
    // change.
    if (field.is_null()) store_null(field);
    return std::nullopt;
  }
  Value value;
  if (assignment.value.from == FormValue::From::time)
    return store_time(field, assignment.value, values_) ? std::nullopt : std::optional(NotNow::value);
  if (assignment.given.empty()) {
    if (!value_of(assignment.value, values_, value)) return NotNow::value;
  } else if (!computes) {
    copy_given(field);
    return std::nullopt;
  } else {
    value = given_integer(*table_->field[resolved.given]);
  }
  const bool stored =
      computes ? store_sum(field, assignment, *table_->field[resolved.source], value) : store(field, value);
  return stored ? std::nullopt : std::optional(NotNow::warning);
}

bool ChangeRow::has_drawn() const {
  return worker_->is_error() || worker_->get_stmt_da()->current_statement_warn_count() != 0;
}

/// Whether there are warnings; in the session's own statement notes about rounded values are allowed.
bool ChangeRow::drew_warnings() const {
  if (!has_drawn()) return false;
  const bool may_note = worker_ == session_ && !form_->returns() && form_->duplicate == ChangeForm::Duplicate::refuse &&
                        (session_->variables.option_bits & OPTION_WARNINGS) == 0;
  return worker_->is_error() || !may_note || !has_only_notes(worker_);
}

bool ChangeRow::store(Field &field, const Value &value) const {
  switch (value.kind()) {
    case Value::Kind::null: return store_null(field);
    case Value::Kind::bytes: return store_literal(field, value);
    case Value::Kind::integer:
      field.set_notnull();
      return takes_integers(field) && field.store(static_cast<longlong>(value.integer()), false) == 0;
    case Value::Kind::natural:
      field.set_notnull();
      return takes_integers(field) && field.store(static_cast<longlong>(value.natural()), true) == 0;
  }
  return false;
}

bool ChangeRow::store_literal(Field &field, const Value &value) const {
  const Bytes bytes = value.bytes();
  switch (value.spelling()) {
    case Value::Spelling::text: return takes_texts(field) && store_text(field, bytes);
    case Value::Spelling::binary:
      if (!holds_bytes(field)) return false;
      field.set_notnull();
      return field.store(bytes.data(), bytes.size(), &my_charset_bin) == 0;
    case Value::Spelling::decimal: {
      my_decimal number;
      if (!holds_fractions(field)) return false;
      if (str2my_decimal(0, bytes.data(), bytes.size(), &my_charset_latin1, &number) != E_DEC_OK) return false;
      field.set_notnull();
      return field.store_decimal(&number) == 0;
    }
    case Value::Spelling::real: {
      int error = 0;
      char *end = nullptr;
      if (!holds_fractions(field)) return false;
      const double number = my_charset_latin1.strntod(const_cast<char *>(bytes.data()), bytes.size(), &end, &error);
      field.set_notnull();
      return error == 0 && end == bytes.end() && field.store(number) == 0;
    }
  }
  return false;
}

/// From the connection's character set into the column's, as the server does it. The server converts texts where the
/// client's and the connection's sets do not agree, and complains of malformed ones.
bool ChangeRow::store_text(Field &field, Bytes text) const {
  CHARSET_INFO *const connection = session_->variables.collation_connection;
  if (!character_sets_agree(connection, session_->variables.character_set_client, text)) return false;
  if (Well_formed_prefix(connection, text.data(), text.size()).length() != text.size()) return false;
  field.set_notnull();
  return field.store(text.data(), text.size(), connection) == 0;
}

/// Sums that are the same whether they are computed as integers or, where the client sent a double, as doubles.
bool ChangeRow::store_sum(Field &field, const FormAssignment &assignment, const Field &source,
                          const Value &value) const {
  constexpr int64_t exact_end = int64_t{1} << 53;
  // With this mode the column would have its value before the statement.
  if (session_->variables.sql_mode & MODE_SIMULTANEOUS_ASSIGNMENT) return false;
  if (holds_fractions(field)) return store_fraction(field, assignment.how, const_cast<Field &>(source), value);
  if (value.kind() == Value::Kind::bytes) return false;
  if (value.is_null() || (source.is_null() && !assignment.if_null && !assignment.base)) return store_null(field);
  const auto in_range = [](uint64_t natural) { return natural < static_cast<uint64_t>(exact_end); };
  const bool of_natural = value.kind() == Value::Kind::natural;
  if (of_natural && !in_range(value.natural())) return false;
  const int64_t amount = of_natural ? static_cast<int64_t>(value.natural()) : value.integer();
  int64_t now = 0;
  if (!assignment.base && !source.is_null()) now = const_cast<Field &>(source).val_int();
  else if (!integer_of(assignment.base ? *assignment.base : *assignment.if_null, now)) return false;
  if (now <= -exact_end || now >= exact_end || amount <= -exact_end || amount >= exact_end) return false;
  const int64_t sum = assignment.how == FormAssignment::How::add ? now + amount : now - amount;
  if (sum <= -exact_end || sum >= exact_end) return false;
  // Whether a negative result is an error depends on the UNSIGNED operands, and on the sql_mode.
  if (sum < 0 && (of_natural || (!assignment.base && source.is_unsigned()))) return false;
  int64_t least = sum;
  if (assignment.at_least && !integer_of(*assignment.at_least, least)) return false;
  field.set_notnull();
  return field.store(std::max(sum, least), false) == 0;
}

namespace {

bool decimal_of(const Value &value, my_decimal &number) {
  switch (value.kind()) {
    case Value::Kind::null: return false;
    case Value::Kind::integer: return int2my_decimal(0, value.integer(), false, &number) == E_DEC_OK;
    case Value::Kind::natural:
      return int2my_decimal(0, static_cast<longlong>(value.natural()), true, &number) == E_DEC_OK;
    case Value::Kind::bytes: break;
  }
  const Bytes bytes = value.bytes();
  return str2my_decimal(0, bytes.data(), bytes.size(), &my_charset_latin1, &number) == E_DEC_OK;
}

bool double_of(const Value &value, double &number) {
  if (value.kind() == Value::Kind::bytes && value.spelling() == Value::Spelling::real) {
    int error = 0;
    char *end = nullptr;
    const Bytes bytes = value.bytes();
    number = my_charset_latin1.strntod(const_cast<char *>(bytes.data()), bytes.size(), &end, &error);
    return error == 0 && end == bytes.end();
  }
  my_decimal exact;
  return decimal_of(value, exact) && my_decimal2double(0, &exact, &number) == E_DEC_OK;
}

}  // namespace

/// A DECIMAL, FLOAT or DOUBLE and a number: the sum of decimals is one, all others are doubles. An integer may be a
/// double, too, where the client has bound it: then the two sums have to be the same.
bool ChangeRow::store_fraction(Field &field, FormAssignment::How how, Field &source, const Value &value) {
  if (value.is_null() || source.is_null()) return store_null(field);
  if (value.kind() == Value::Kind::bytes && value.spelling() != Value::Spelling::decimal &&
      value.spelling() != Value::Spelling::real)
    return false;
  const bool adds = how == FormAssignment::How::add;
  const bool is_real = value.kind() == Value::Kind::bytes && value.spelling() == Value::Spelling::real;
  double amount = 0;
  if (!double_of(value, amount)) return false;
  const double now = source.val_real();
  const double sum = adds ? now + amount : now - amount;
  if (!std::isfinite(sum)) return false;
  if (is_real || field.result_type() == REAL_RESULT) {
    field.set_notnull();
    return field.store(sum) == 0;
  }
  my_decimal room;
  my_decimal other;
  my_decimal exact;
  const my_decimal *const before = source.val_decimal(&room);
  if (!decimal_of(value, other)) return false;
  if ((adds ? my_decimal_add : my_decimal_sub)(0, &exact, before, &other) != E_DEC_OK) return false;
  if (value.kind() != Value::Kind::bytes) {
    my_decimal of_double;
    if (double2my_decimal(0, sum, &of_double) != E_DEC_OK || my_decimal_cmp(&exact, &of_double) != 0) return false;
  }
  field.set_notnull();
  return field.store_decimal(&exact) == 0;
}

/// A small integer, with the same result in integers and in doubles.
bool ChangeRow::integer_of(const FormValue &from, int64_t &number) const {
  constexpr int64_t small_end = int64_t{1} << 31;
  Value value;
  if (!value_of(from, values_, value) || value.kind() != Value::Kind::integer) return false;
  number = value.integer();
  return number > -small_end && number < small_end;
}

// --- what fails ------------------------------------------------------------------------------------------------------

/// `changing`: the call was to change the row.
std::optional<NotNow> ChangeRow::failed(int code, bool changing) {
  code_ = code;
  if (worker_->transaction_rollback_request || worker_->killed) {
    lost_ = true;
    return NotNow::lost;
  }
  switch (code) {
    case HA_ERR_LOCK_WAIT_TIMEOUT: return NotNow::row_locked;
    // In these cases InnoDB finds nothing to change, or goes back to where the call began (see
    // WriteOp::left_the_row()).
    case HA_ERR_FOUND_DUPP_KEY:
    case HA_ERR_FOREIGN_DUPLICATE_KEY:
    case HA_ERR_ROW_IS_REFERENCED:
    case HA_ERR_NO_REFERENCED_ROW:
    case HA_ERR_TO_BIG_ROW:
    case HA_ERR_NULL_IN_SPATIAL:
    case HA_ERR_AUTOINC_READ_FAILED:
    case HA_ERR_AUTOINC_ERANGE: return NotNow::row_refused;
    default: break;
  }
  lost_ = changing;
  return changing ? NotNow::lost : NotNow::read_failed;
}

}  // namespace postern::mariadb
