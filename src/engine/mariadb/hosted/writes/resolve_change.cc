#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/resolve_change.h"

#include <algorithm>
#include <span>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb {
namespace {

/// A constraint's result depends on the row alone: neither on the account nor on the time.
bool depends_on_row_alone(Virtual_column_info **expressions) {
  for (; expressions != nullptr && *expressions != nullptr; ++expressions)
    if (((*expressions)->flags & ~uint{VCOL_FIELD_REF}) != 0) return false;
  return true;
}

bool may_share(const TABLE &table) {
  return table.triggers == nullptr && table.vfield == nullptr && table.part_info == nullptr && !table.versioned() &&
         !table.s->long_unique_table && !table.s->period.unique_keys && !table.s->period.name.str &&
         depends_on_row_alone(table.check_constraints);
}

}  // namespace

bool holds_integers(const Field &field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG: return field.result_type() == INT_RESULT;
    default: return false;
  }
}

bool holds_fractions(const Field &field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE: return true;
    default: return false;
  }
}

bool holds_bytes(const Field &field) {
  return field.charset() == &my_charset_bin && is_text(field);
}

bool takes_integers(const Field &field) {
  return holds_fractions(field) || holds_integers(field);
}

bool takes_texts(const Field &field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2: return true;
    default: return takes_integers(field);
  }
}

namespace {

/// Whether the column may take such a value as the server gives it.
bool takes(const Field &field, const FormValue &value) {
  switch (value.from) {
    case FormValue::From::sum:
    case FormValue::From::variable:
    case FormValue::From::told_id:
    case FormValue::From::session:
    case FormValue::From::seconds: return takes_integers(field);
    case FormValue::From::time:
      return field.real_type() == MYSQL_TYPE_NEWDATE || field.real_type() == MYSQL_TYPE_DATETIME2 ||
             field.real_type() == MYSQL_TYPE_TIMESTAMP2;
    default: return takes_texts(field);
  }
}

/// Whether a column that the statement does not name, or sets to DEFAULT, gets the same value in every session.
bool has_plain_default(const TABLE &table, Field &field) {
  if (&field == table.found_next_number_field) return true;
  if (field.flags & NO_DEFAULT_VALUE_FLAG) return false;
  return field.default_value == nullptr || (field.default_value->flags & ~uint{VCOL_FIELD_REF | VCOL_TIME_FUNC}) == 0;
}

std::optional<WhyNot> resolve_assignment(const FormAssignment &assignment, const TABLE &table,
                                         ResolvedAssignment &resolved) {
  resolved.field = field_of(table, assignment.column);
  if (resolved.field == no_field) return WhyNot::no_column;
  const Field &field = *table.field[resolved.field];
  if (field.vcol_info != nullptr) return WhyNot::computed;
  const bool sets = assignment.how == FormAssignment::How::set;
  resolved.source = resolved.field;
  if (!sets && !assignment.base) {
    resolved.source = field_of(table, assignment.source);
    if (resolved.source == no_field) return WhyNot::no_column;
  }
  if (!assignment.given.empty()) {
    resolved.given = field_of(table, assignment.given);
    if (resolved.given == no_field) return WhyNot::no_column;
  }
  const bool same_given = assignment.given.empty() || resolved.given == resolved.field;
  switch (assignment.how) {
    case FormAssignment::How::set:
      return takes(field, assignment.value) && same_given ? std::nullopt : std::optional(WhyNot::column_type);
    case FormAssignment::How::add:
    case FormAssignment::How::subtract:
      if (holds_fractions(field) && resolved.source == resolved.field && assignment.given.empty() &&
          !assignment.if_null && !assignment.at_least)
        return std::nullopt;
      return holds_integers(field) && holds_integers(*table.field[resolved.source]) &&
                     (assignment.given.empty() || holds_integers(*table.field[resolved.given]))
                 ? std::nullopt
                 : std::optional(WhyNot::column_type);
    case FormAssignment::How::keep:
      return resolved.source == resolved.field ? std::nullopt : std::optional(WhyNot::value);
    case FormAssignment::How::tell:
      return resolved.source == resolved.field && holds_integers(field) ? std::nullopt : std::optional(WhyNot::value);
  }
  return WhyNot::value;
}

bool is_in(const KEY &key, const Field &field) {
  return std::ranges::any_of(std::span(key.key_part, key.user_defined_key_parts),
                             [&](const KEY_PART_INFO &part) { return part.fieldnr == field.field_index + 1U; });
}

/// Whether rows may be changed one after the other as an index finds them. The server notes all of
/// them first where it would change the key that it finds them by.
bool may_change_several(const ChangeForm &form, const TABLE &table, const ResolvedChange &change,
                        const ResolvedRead &walk) {
  const auto changes = [&](const Field &field) {
    return field.has_update_default_function() ||
           std::ranges::any_of(change.assignments,
                               [&](const ResolvedAssignment &one) { return one.field == field.field_index; });
  };
  const auto stays = [&](uint number) {
    const KEY &key = table.key_info[number];
    return std::ranges::none_of(std::span(key.key_part, key.user_defined_key_parts),
                                [&](const KEY_PART_INFO &part) { return changes(*table.field[part.fieldnr - 1]); });
  };
  if (form.returns() || !stays(walk.index)) return false;
  return table.s->primary_key >= MAX_KEY || stays(table.s->primary_key);
}

/// Finds whether and where the server would lock other rows and gaps than those of the index that the statement names.
void find_other_locks(const ChangeForm &form, const TABLE &table, ResolvedChange &change) {
  std::vector<ResolvedRead> others;
  change.may_lock_others =
      may_contradict(form.rows, table, change.rows) || !resolve_others(form.rows, table, change.rows, others);
  if (change.may_lock_others || others.empty()) return;
  if (change.rows.way == ReadWay::several) {
    change.may_lock_others = true;
    return;
  }
  change.rivals.push_back(change.rows);
  change.rivals.insert(change.rivals.end(), others.begin(), others.end());
}

/// Whether the column's new value may be a duplicate of a third row. The server reports that error after it has
/// generated an id; if a worker began and left the statement, the server would generate another. With one unique key
/// the new row's own value cannot be such a duplicate: the row was found by it.
bool may_meet_another(const FormAssignment &assignment, const Field &changed, const TABLE &table) {
  const Field *const id = table.found_next_number_field;
  if (id == nullptr) return false;
  size_t keys = 0;
  bool in_key = false;
  for (const KEY &key : std::span(table.key_info, table.s->keys)) {
    if (!(key.flags & HA_NOSAME) || is_in(key, *id)) continue;
    ++keys;
    in_key |= is_in(key, changed);
  }
  return in_key && (keys > 1 || assignment.given.empty());
}

/// LAST_INSERT_ID(c) changes what LAST_INSERT_ID() is for the rows after it.
bool tells_and_is_told(const ChangeForm &form) {
  const bool tells = std::ranges::any_of(
      form.assignments, [](const FormAssignment &one) { return one.how == FormAssignment::How::tell; });
  const auto any = [](const std::vector<FormValue> &values) { return std::ranges::any_of(values, is_of_told_id); };
  return tells && (std::ranges::any_of(form.new_rows, any) ||
                   std::ranges::any_of(form.assignments, is_of_told_id, &FormAssignment::value));
}

/// Each column only once, because VALUES() is the record's earlier value; and no new AUTO_INCREMENT value, which would
/// raise the counter.
std::optional<WhyNot> resolve_updates(const ChangeForm &form, const TABLE &table, ResolvedChange &change) {
  std::vector<bool> changed(table.s->fields, false);
  for (const FormAssignment &assignment : form.assignments) {
    ResolvedAssignment resolved;
    if (const auto why = resolve_assignment(assignment, table, resolved)) return why;
    if (changed[resolved.field]) return WhyNot::value;
    changed[resolved.field] = true;
    const bool keeps = assignment.how == FormAssignment::How::keep || assignment.how == FormAssignment::How::tell;
    const Field &field = *table.field[resolved.field];
    if (!keeps && (&field == table.found_next_number_field || may_meet_another(assignment, field, table)))
      return WhyNot::other_key;
    change.assignments.push_back(resolved);
  }
  return tells_and_is_told(form) ? std::optional(WhyNot::value) : std::nullopt;
}

std::optional<WhyNot> resolve_insert(const ChangeForm &form, const TABLE &table, ResolvedChange &change) {
  std::vector<bool> given(table.s->fields, false);
  for (const std::string &name : form.columns) {
    const uint16_t at = field_of(table, name);
    if (at == no_field || given[at]) return WhyNot::no_column;
    given[at] = true;
    change.columns.push_back(at);
  }
  for (uint16_t at = 0; form.columns.empty() && at < table.s->fields; ++at) {
    if (table.field[at]->invisible != VISIBLE) continue;
    given[at] = true;
    change.columns.push_back(at);
  }
  for (const std::vector<FormValue> &row : form.new_rows) {
    if (row.size() != change.columns.size()) return WhyNot::wanted;
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i].from == FormValue::From::standard) given[change.columns[i]] = false;
  }
  for (const std::vector<FormValue> &row : form.new_rows)
    for (size_t i = 0; i < row.size(); ++i)
      if (!takes(*table.field[change.columns[i]], row[i])) return WhyNot::column_type;
  for (uint16_t at = 0; at < table.s->fields; ++at)
    if (!given[at] && !has_plain_default(table, *table.field[at])) return WhyNot::own_transaction;
  return resolve_updates(form, table, change);
}

/// An order or a limit means nothing for a single row. But for an UPDATE the server then reads the row twice, unless
/// conditions make each column of the order constant.
std::optional<WhyNot> resolve_order(const ChangeForm &form, const TABLE &table, ResolvedChange &change) {
  if (form.rows.order.empty() && !form.rows.limit) return std::nullopt;
  if (change.rows.way != ReadWay::one) return WhyNot::no_index;
  if (form.what != ChangeForm::What::update) return std::nullopt;
  for (const FormOrder &order : form.rows.order) {
    const auto part = std::ranges::find(change.rows.parts, field_of(table, order.column), &ResolvedCondition::field);
    if (part == change.rows.parts.end()) return WhyNot::no_index;
    change.orders.push_back(*part);
  }
  return std::nullopt;
}

}  // namespace

std::optional<WhyNot> resolve_change(const ChangeForm &form, const TABLE &table, ResolvedChange &change) {
  change = {};
  if (!may_share(table)) return WhyNot::own_transaction;
  if (form.what == ChangeForm::What::insert) {
    // As in resolve() for statements that find rows.
    const bool plain = table.s->table_category == TABLE_CATEGORY_USER && table.s->tmp_table == NO_TMP_TABLE &&
                       !table.s->sequence && table.s->db_type()->db_type == DB_TYPE_INNODB;
    if (!plain) return WhyNot::table_feature;
    if (const auto why = resolve_wanted(form.rows, table, change.rows.columns)) return why;
    return resolve_insert(form, table, change);
  }
  if (const auto why = resolve(form.rows, table, change.rows)) return why;
  if (const auto why = resolve_order(form, table, change)) return why;
  for (const FormAssignment &assignment : form.assignments) {
    ResolvedAssignment &resolved = change.assignments.emplace_back();
    if (const auto why = resolve_assignment(assignment, table, resolved)) return why;
  }
  if (change.rows.way != ReadWay::walk) {
    find_other_locks(form, table, change);
    const bool serves = change.rows.way == ReadWay::one || may_change_several(form, table, change, change.rows);
    return serves ? std::nullopt : std::optional(WhyNot::no_index);
  }
  if (!may_change_several(form, table, change, change.rows)) return WhyNot::no_index;
  // A pattern's prefix finds rows that the pattern may not have.
  const bool by_pattern = std::ranges::any_of(change.rows.range, [&form](const ResolvedCondition &one) {
    return form.rows.conditions[one.condition].test == FormTest::like;
  });
  if (by_pattern) return WhyNot::no_index;
  if (change.rows.filters.empty()) {
    find_other_locks(form, table, change);
    return std::nullopt;
  }
  change.may_lock_others = may_contradict(form.rows, table, change.rows);
  change.walks.push_back(change.rows);
  if (!resolve_others(form.rows, table, change.rows, change.walks)) return WhyNot::no_index;
  const bool any_serves = std::ranges::all_of(
      change.walks, [&](const ResolvedRead &walk) { return may_change_several(form, table, change, walk); });
  return any_serves ? std::nullopt : std::optional(WhyNot::no_index);
}

}  // namespace postern::mariadb
