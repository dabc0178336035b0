#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/resolve_read.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/mariadb/basics/compat.h"
#include "engine/sql/plans/index_choice.h"

namespace postern::mariadb {
namespace {

/// CHAR under a NO PAD collation: its key has blanks that the server's comparison does not see.
bool is_blank_padded(const Field &field) {
  const CHARSET_INFO *charset = field.charset();
  return field.type_handler() == &type_handler_string && charset != &my_charset_bin && charset->state & MY_CS_NOPAD;
}

bool may_be_read(const Field &field) {
  return !field.vcol_info || field.stored_in_db();
}

sql::TableIndexes::Index facts_of(const KEY &key) {
  sql::TableIndexes::Index facts{
      .is_unique = (key.flags & HA_NOSAME) != 0,
      .may_be_null = (key.flags & HA_NULL_PART_KEY) != 0,
      .is_plain = !key.is_ignored && key.algorithm != HA_KEY_ALG_LONG_HASH && !compat::is_full_text_or_spatial(key)};
  for (uint32_t part = 0; part < key.user_defined_key_parts; ++part) {
    const KEY_PART_INFO &info = key.key_part[part];
    facts.parts.push_back({.column = static_cast<uint16_t>(info.fieldnr - 1),
                           .is_prefix = (info.key_part_flag & HA_PART_KEY_SEG) != 0,
                           .is_down = (info.key_part_flag & HA_REVERSE_SORT) != 0});
    if (facts.is_plain) facts.rows.push_back(key.actual_rec_per_key(part));
  }
  return facts;
}

sql::TableIndexes indexes_of(const TABLE &table, const std::string &allowed) {
  sql::TableIndexes indexes{.is_partitioned = table.part_info != nullptr};
  for (uint32_t index = 0; index < table.s->keys; ++index) {
    const KEY &key = table.key_info[index];
    indexes.indexes.push_back(facts_of(key));
    indexes.indexes.back().is_allowed =
        allowed.empty() || compat::same_name(system_charset_info, key.name.str, allowed.c_str());
  }
  if (table.s->primary_key < MAX_KEY) indexes.primary = table.s->primary_key;
  for (uint16_t at = 0; at < table.s->fields; ++at)
    if (is_blank_padded(*table.field[at])) indexes.blank_padded.push_back(at);
  return indexes;
}

WhyNot reason_of(sql::NoIndex why) {
  switch (why) {
    case sql::NoIndex::none_fits: break;
    case sql::NoIndex::other_is_better: return WhyNot::other_index;
    case sql::NoIndex::of_partitions: return WhyNot::partitions;
    case sql::NoIndex::locks_others: return WhyNot::locks_rows;
  }
  return WhyNot::no_index;
}

/// Whether a computed value may be one that such a column holds exactly.
bool may_be_compared(const FormValue &value, const Field &field, Exact exact) {
  switch (value.from) {
    case FormValue::From::sum:
    case FormValue::From::variable:
    case FormValue::From::told_id:
    case FormValue::From::session:
    case FormValue::From::seconds: return exact == Exact::integer || exact == Exact::decimal;
    case FormValue::From::time: {
      const bool is_date = value.time.what >= FormTime::What::date;
      return (exact == Exact::datetime && value.time.digits <= field.decimals()) || (exact == Exact::date && is_date);
    }
    default: return true;
  }
}

bool tests_equality(FormTest test) {
  return test == FormTest::equal || test == FormTest::in || test == FormTest::tuple || test == FormTest::unequal;
}

class Resolution {
 public:
  Resolution(const ReadForm &form, const TABLE &table, ResolvedRead &read) : form_(form), table_(table), read_(read) {}
  std::optional<WhyNot> run();
  /// After run().
  bool find_others(std::vector<ResolvedRead> &others) const;
  bool may_contradict() const { return sql::may_contradict(indexed_read(), indexes_of(table_, form_.index), choice_); }

 private:
  std::optional<WhyNot> check_table() const;
  std::optional<WhyNot> resolve_order();
  std::optional<WhyNot> resolve_conditions();
  sql::IndexedRead indexed_read() const;
  void take(const sql::IndexChoice &choice, ResolvedRead &read) const;

  const ReadForm &form_;
  const TABLE &table_;
  ResolvedRead &read_;
  std::vector<ResolvedCondition> conditions_;  // one for each of the form's
  std::vector<sql::IndexedRead::Order> order_;
  sql::IndexChoice choice_;
};

std::optional<WhyNot> Resolution::run() {
  if (const auto why = check_table()) return why;
  if (const auto why = resolve_wanted(form_, table_, read_.columns)) return why;
  if (const auto why = resolve_order()) return why;
  if (const auto why = resolve_conditions()) return why;
  if (const auto why = sql::choose_index(indexed_read(), indexes_of(table_, form_.index), choice_))
    return reason_of(*why);
  take(choice_, read_);
  return std::nullopt;
}

bool Resolution::find_others(std::vector<ResolvedRead> &others) const {
  std::vector<sql::IndexChoice> choices;
  if (!sql::find_others(indexed_read(), indexes_of(table_, form_.index), choice_, choices)) return false;
  for (const sql::IndexChoice &choice : choices) take(choice, others.emplace_back());
  return true;
}

std::optional<WhyNot> Resolution::check_table() const {
  const TABLE_SHARE &share = *table_.s;
  if (share.table_category != TABLE_CATEGORY_USER || share.tmp_table != NO_TMP_TABLE || share.sequence ||
      table_.versioned() || share.db_type()->db_type != DB_TYPE_INNODB) {
    const bool partitioned = table_.part_info && share.db_type()->db_type == DB_TYPE_PARTITION_DB &&
                             share.table_category == TABLE_CATEGORY_USER && !table_.versioned();
    if (!partitioned) return WhyNot::table_feature;
  }
  // Other storage engines ignore SKIP LOCKED.
  if (form_.skips_locked && (table_.file->ha_table_flags() & HA_CAN_SKIP_LOCKED) == 0) return WhyNot::skip_locked;
  return std::nullopt;
}

std::optional<WhyNot> Resolution::resolve_order() {
  for (const FormOrder &order : form_.order) {
    const uint16_t at = field_of(table_, order.column);
    if (at == no_field) return WhyNot::no_column;
    order_.push_back({at, order.descending});
  }
  if (counts_rows(form_)) order_.clear();  // there is one row
  return std::nullopt;
}

std::optional<WhyNot> Resolution::resolve_conditions() {
  for (uint16_t at = 0; at < form_.conditions.size(); ++at) {
    ResolvedCondition resolved{.condition = at, .field = field_of(table_, form_.conditions[at].column)};
    if (resolved.field == no_field) return WhyNot::no_column;
    const Field &field = *table_.field[resolved.field];
    if (!may_be_read(field)) return WhyNot::computed;
    const FormTest test = form_.conditions[at].test;
    const bool of_null = test == FormTest::null || test == FormTest::not_null;
    // IS NULL on a NOT NULL column also finds zero dates, and may find a new AUTO_INCREMENT value.
    if (test == FormTest::null && !field.real_maybe_null()) return WhyNot::null_test;
    if (!of_null && !exactness(field, resolved.exact)) return WhyNot::column_type;
    if (!std::ranges::all_of(form_.conditions[at].values,
                             [&](const FormValue &value) { return may_be_compared(value, field, resolved.exact); }))
      return WhyNot::column_type;
    if (test == FormTest::like && (!is_text(field) || resolved.exact != Exact::text)) return WhyNot::column_type;
    if (!of_null && resolved.exact == Exact::uuid && !tests_equality(test)) return WhyNot::column_type;
    conditions_.push_back(resolved);
  }
  return std::nullopt;
}

sql::IndexedRead Resolution::indexed_read() const {
  sql::IndexedRead read{.order = order_,
                        .columns = read_.columns,
                        .has_limit = form_.limit.has_value(),
                        .exists = form_.exists,
                        .counts = !form_.exists && counts_rows(form_),
                        .locks = form_.lock != FormLock::none};
  for (const ResolvedCondition &one : conditions_) {
    const FormCondition &condition = form_.conditions[one.condition];
    read.conditions.push_back({one.field, condition.test, condition.values.size()});
  }
  return read;
}

void Resolution::take(const sql::IndexChoice &choice, ResolvedRead &read) const {
  read.way = choice.way;
  read.index = choice.index;
  read.backwards = choice.backwards;
  read.ties = choice.ties;
  read.ordered = choice.ordered;
  for (const uint16_t at : choice.parts) read.parts.push_back(conditions_[at]);
  for (const uint16_t at : choice.range) read.range.push_back(conditions_[at]);
  for (const uint16_t at : choice.filters) read.filters.push_back(conditions_[at]);
}

}  // namespace

bool is_text(const Field &field) {
  const Type_handler *type = field.type_handler();
  return type == &type_handler_varchar || type == &type_handler_string || type == &type_handler_tiny_blob ||
         type == &type_handler_blob || type == &type_handler_medium_blob || type == &type_handler_long_blob;
}

std::optional<WhyNot> resolve(const ReadForm &form, const TABLE &table, ResolvedRead &read) {
  read = {};
  return Resolution(form, table, read).run();
}

bool resolve_others(const ReadForm &form, const TABLE &table, const ResolvedRead &chosen,
                    std::vector<ResolvedRead> &others) {
  ResolvedRead read;
  Resolution resolution(form, table, read);
  return !resolution.run() && read.index == chosen.index && resolution.find_others(others);
}

bool may_contradict(const ReadForm &form, const TABLE &table, const ResolvedRead &chosen) {
  ResolvedRead read;
  Resolution resolution(form, table, read);
  return resolution.run() || read.index != chosen.index || resolution.may_contradict();
}

bool tests_a_column_twice(const ResolvedRead &read) {
  std::vector<uint16_t> seen;
  for (const auto *const conditions : {&read.parts, &read.range, &read.filters}) {
    for (const ResolvedCondition &one : *conditions) {
      if (std::ranges::find(seen, one.field) != seen.end()) return true;
      seen.push_back(one.field);
    }
  }
  return false;
}

bool is_uuid(const Field &field) {
  const Name name = field.type_handler()->name();
  return field.real_type() == MYSQL_TYPE_STRING && std::string_view(name.ptr(), name.length()) == "uuid";
}

bool exactness(const Field &field, Exact &exact) {
  if (is_uuid(field)) {
    exact = Exact::uuid;
    return true;
  }
  if (is_text(field)) {
    if (is_blank_padded(field)) return false;
    const bool is_fixed = field.type_handler() == &type_handler_string;
    exact = is_fixed && field.charset() == &my_charset_bin ? Exact::binary_fixed : Exact::text;
    return true;
  }
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG: exact = Exact::integer; return field.result_type() == INT_RESULT;
    case MYSQL_TYPE_NEWDECIMAL: exact = Exact::decimal; return true;
    case MYSQL_TYPE_NEWDATE: exact = Exact::date; return true;
    case MYSQL_TYPE_DATETIME2: exact = Exact::datetime; return true;
    default: return false;
  }
}

bool is_of_time(const FormValue &value) {
  return value.from == FormValue::From::time || value.from == FormValue::From::seconds ||
         std::ranges::any_of(value.terms, is_of_time);
}

bool is_of_session(const FormValue &value) {
  return value.from == FormValue::From::variable || value.from == FormValue::From::told_id ||
         value.from == FormValue::From::session || std::ranges::any_of(value.terms, is_of_session);
}

bool is_of_told_id(const FormValue &value) {
  return value.from == FormValue::From::told_id || std::ranges::any_of(value.terms, is_of_told_id);
}

uint16_t field_of(const TABLE &table, const std::string &name) {
  for (uint16_t at = 0; at < table.s->fields; ++at) {
    const Field &field = *table.field[at];
    if (!compat::same_name(system_charset_info, field.field_name.str, name.c_str())) continue;
    return field.invisible > INVISIBLE_USER ? no_field : at;
  }
  return no_field;
}

bool character_sets_agree(const charset_info_st *column, const charset_info_st *connection, Bytes text) {
  if (column == &my_charset_bin || my_charset_same(column, connection)) return true;
  const bool is_ascii = std::ranges::all_of(text, [](char one) { return static_cast<unsigned char>(one) < 0x80; });
  if (is_ascii) return my_charset_is_ascii_based(column) && my_charset_is_ascii_based(connection);
  // utf8mb3 and utf8mb4 write the same characters in the same bytes, up to three of them.
  const auto is_utf8 = [](const charset_info_st *one) { return std::strncmp(one->cs_name.str, "utf8mb", 6) == 0; };
  const bool is_short = std::ranges::none_of(text, [](char one) { return static_cast<unsigned char>(one) >= 0xf0; });
  return is_utf8(column) && is_utf8(connection) && is_short;
}

std::optional<WhyNot> resolve_wanted(const ReadForm &form, const TABLE &table, std::vector<uint16_t> &columns) {
  for (const FormWanted &wanted : form.wanted) {
    if (wanted.what == FormWanted::What::all_columns) {
      for (uint16_t at = 0; at < table.s->fields; ++at) {
        if (table.field[at]->invisible == VISIBLE) columns.push_back(at);
      }
    } else if (!wanted.column.empty()) {
      const uint16_t at = field_of(table, wanted.column);
      if (at == no_field) return WhyNot::no_column;
      columns.push_back(at);
    }
  }
  if (form.exists) columns.clear();  // they exist; they are not read
  const bool readable = std::ranges::all_of(columns, [&](uint16_t at) { return may_be_read(*table.field[at]); });
  return readable ? std::nullopt : std::optional(WhyNot::computed);
}

}  // namespace postern::mariadb
