#include "engine/mariadb/hosted/writes/change_answer.h"

#include <algorithm>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/statement_end.h"

namespace postern::mariadb {
namespace {

/// Whether the account may do `what` to all the columns of the table that `each` names.
template <class Each>
bool may(THD *thd, privilege_t what, const ReadForm &rows, Each each) {
  const TableNames names(rows.database, rows.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  if (check_table_access(thd, what, &list, false, 1, true)) return false;
  list.grant.want_privilege = what & ~list.grant.privilege;
  if (list.grant.want_privilege == NO_ACL) return true;
  return each([&](const std::string &column) {
    return compat::column_is_granted(thd, list.grant, rows.database, rows.table, column.c_str(), column.size());
  });
}

}  // namespace

bool may_change(THD *thd, const ChangeForm &form) {
  const auto none = [](auto) { return false; };
  const auto reads = [&](auto granted) {
    return std::ranges::all_of(form.rows.conditions, [&](const FormCondition &one) { return granted(one.column); }) &&
           std::ranges::all_of(form.rows.order, [&](const FormOrder &one) { return granted(one.column); }) &&
           std::ranges::all_of(form.assignments, [&](const FormAssignment &one) {
             return (one.how == FormAssignment::How::set || one.base || granted(one.source)) &&
                    (one.given.empty() || granted(one.given));
           });
  };
  const auto updates = [&](auto granted) {
    return std::ranges::all_of(form.assignments, [&](const FormAssignment &one) { return granted(one.column); });
  };
  const auto returns = [&](auto granted) {
    // The columns of `*` are known only when the table is open.
    return std::ranges::all_of(form.rows.wanted,
                               [&](const FormWanted &one) { return !one.column.empty() && granted(one.column); });
  };
  if (form.returns() && !may(thd, SELECT_ACL, form.rows, returns)) return false;
  if (form.what == ChangeForm::What::insert) {
    const auto inserts = [&](auto granted) {
      return !form.columns.empty() && std::ranges::all_of(form.columns, granted);
    };
    if (!may(thd, INSERT_ACL, form.rows, inserts)) return false;
    switch (form.duplicate) {
      case ChangeForm::Duplicate::refuse:
      case ChangeForm::Duplicate::ignore: return true;
      case ChangeForm::Duplicate::replace: return may(thd, DELETE_ACL, form.rows, none);
      case ChangeForm::Duplicate::update: break;
    }
  }
  if (!may(thd, SELECT_ACL, form.rows, reads)) return false;
  if (form.what == ChangeForm::What::erase) return may(thd, DELETE_ACL, form.rows, none);
  return may(thd, UPDATE_ACL, form.rows, updates);
}

bool has_only_notes(THD *thd) {
  ulong notes = 0;
  Diagnostics_area::Sql_condition_iterator conditions = thd->get_stmt_da()->sql_conditions();
  while (const Sql_condition *const one = conditions++) {
    if (one->get_level() != Sql_condition::WARN_LEVEL_NOTE || one->get_sql_errno() != WARN_DATA_TRUNCATED) return false;
    ++notes;
  }
  return notes == thd->get_stmt_da()->current_statement_warn_count();  // it keeps no more than max_error_count
}

enum_sql_command command_of(const ChangeForm &form) {
  switch (form.what) {
    case ChangeForm::What::update: return SQLCOM_UPDATE;
    case ChangeForm::What::erase: return SQLCOM_DELETE;
    case ChangeForm::What::insert:
      return form.duplicate == ChangeForm::Duplicate::replace ? SQLCOM_REPLACE : SQLCOM_INSERT;
  }
  return SQLCOM_END;
}

void note_told_id(THD *thd, const Changed &changed) {
  if (!changed.told_id) return;
  thd->first_successful_insert_id_in_prev_stmt = *changed.told_id;
  thd->arg_of_last_insert_id_function = true;
}

namespace {

/// As my_ok(), but for statements with RETURNING: the end of their rows has neither.
void say_done(THD *thd, const ChangeForm &form, const Changed &changed, ulonglong affected, ulonglong id,
              const char *text = nullptr) {
  if (!form.returns()) return my_ok(thd, affected, id, text);
  compat::count_returned(thd, changed.returned.count());
  my_eof(thd);
}

/// The end of mysql_insert().
void say_inserted(THD *thd, const ChangeForm &form, const Changed &changed) {
  using Duplicate = ChangeForm::Duplicate;
  for (const Changed::PassedOver &one : changed.passed_over) {
    thd->get_stmt_da()->reset_current_row_for_warning(static_cast<ulong>(one.row));
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_DUP_ENTRY, one.why.c_str());
  }
  if (changed.insert_id != 0) thd->record_first_successful_insert_id_in_cur_stmt(changed.insert_id);
  ulonglong id = changed.changed != 0 ? changed.last_id : 0;
  note_told_id(thd, changed);
  if (changed.told_id) id = *changed.told_id;
  if (changed.insert_id != 0) id = changed.insert_id;
  const bool tells_found = form.duplicate == Duplicate::update && (thd->client_capabilities & CLIENT_FOUND_ROWS) != 0;
  const uint64_t old = tells_found ? changed.duplicates : changed.replaced;
  if (form.new_rows.size() == 1) {
    say_done(thd, form, changed, changed.changed + old, id);
    return;
  }
  const uint64_t passed = form.duplicate == Duplicate::ignore ? form.new_rows.size() - changed.changed : old;
  char text[MYSQL_ERRMSG_SIZE];
  my_snprintf(text, sizeof text, ER_THD(thd, ER_INSERT_INFO), static_cast<ulong>(form.new_rows.size()),
              static_cast<ulong>(passed), static_cast<ulong>(thd->get_stmt_da()->current_statement_warn_count()));
  say_done(thd, form, changed, changed.changed + old, id, text);
}

}  // namespace

void say_ok(THD *thd, const ChangeForm &form, const Changed &changed) {
  const auto rows = static_cast<ulong>(changed.changed);
  char text[MYSQL_ERRMSG_SIZE];
  switch (form.what) {
    case ChangeForm::What::update: {
      const bool tells_found = (thd->client_capabilities & CLIENT_FOUND_ROWS) != 0;
      my_snprintf(text, sizeof text, ER_THD(thd, ER_UPDATE_INFO), static_cast<ulong>(changed.found), rows,
                  static_cast<ulong>(thd->get_stmt_da()->current_statement_warn_count()));
      my_ok(thd, tells_found ? changed.found : rows, 0, text);
      return;
    }
    case ChangeForm::What::erase: say_done(thd, form, changed, rows, 0); return;
    case ChangeForm::What::insert: say_inserted(thd, form, changed); return;
  }
}

void count_rows(Counters &counters, const ChangeForm &form, const Changed &changed) {
  switch (form.what) {
    case ChangeForm::What::update: counters.add(Counter::rows_updated, changed.changed); return;
    case ChangeForm::What::erase: counters.add(Counter::rows_deleted, changed.changed); return;
    case ChangeForm::What::insert: break;
  }
  const uint64_t inserted = form.changes_old_rows() ? changed.writes - changed.duplicates : changed.changed;
  counters.add(Counter::rows_inserted, inserted);
  counters.add(Counter::rows_updated, changed.replaced - changed.deletes);
  counters.add(Counter::rows_deleted, changed.deletes);
}

void send_answer(THD *thd, const ChangeForm &form, const ReturnedRows &rows, uint16_t status, Output &output) {
  if (!rows.wanted()) return send_end(thd, output);
  STATUS_VAR &counts = thd->status_var;
  const Output::Mark start = output.mark();
  sql::Packets packets(output);
  rows.answer()->put_head(packets, status);
  rows.put(packets);
  counts.bytes_sent += output.mark() - start;
  if (rows.answer()->columns_left_out()) ++counts.skip_metadata_count;
  if (form.what == ChangeForm::What::insert) ++counts.feature_insert_returning;
  send_end(thd, output, packets.next_number());
}

}  // namespace postern::mariadb
