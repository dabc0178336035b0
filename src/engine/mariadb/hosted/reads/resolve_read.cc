#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/resolve_read.h"

#include <algorithm>
#include <cstring>

#include "engine/mariadb/basics/compat.h"

namespace postern::mariadb {
namespace {

/// Where it reads no more rows than this, another index saves nothing.
constexpr double rows_few = 16;
/// An index that reads so many times fewer rows than another is better, though it leaves more to be sorted.
constexpr double times_fewer = 4;

/// CHAR under a NO PAD collation: its key has blanks that the server's comparison does not see.
bool is_blank_padded(const Field &field) {
  const CHARSET_INFO *charset = field.charset();
  return field.type_handler() == &type_handler_string && charset != &my_charset_bin && charset->state & MY_CS_NOPAD;
}

bool may_be_read(const Field &field) {
  return !field.vcol_info || field.stored_in_db();
}

class Resolution {
 public:
  Resolution(const ReadForm &form, const TABLE &table, ResolvedRead &read) : form_(form), table_(table), read_(read) {}
  std::optional<WhyNot> run();

 private:
  /// One index, and how good it is.
  struct Candidate {
    uint32_t index = 0;
    ReadWay way = ReadWay::walk;
    std::vector<uint16_t> parts;  // positions in conditions_
    std::vector<uint16_t> range;
    bool backwards = false;
    bool ties = false;
    uint32_t score = 0;
    double rows = 0;  // that it reads, by the table's statistics; 0: they say nothing
  };

  /// A column by which a walk goes on, and whether its values go down then.
  struct Step {
    uint16_t field = 0;
    bool down = false;
  };

  std::optional<WhyNot> check_table() const;
  std::optional<WhyNot> resolve_columns();
  std::optional<WhyNot> resolve_conditions();

  bool try_index(uint32_t index, Candidate &candidate) const;
  double rows_by(uint32_t index, const std::vector<uint16_t> &parts) const;
  bool is_better(const Candidate &one, const Candidate &other) const;
  bool reads_far_more_than_another(const Candidate &candidate) const;
  bool is_usable(const KEY &key) const;
  uint16_t find_condition(uint16_t field, FormTest test, const std::vector<uint16_t> &taken) const;
  void find_parts(const KEY &key, Candidate &candidate) const;
  void find_range(const KEY &key, Candidate &candidate) const;
  bool gives_order(const KEY &key, Candidate &candidate) const;
  bool is_fixed(uint16_t field) const;
  bool has_rows() const {
    return std::ranges::any_of(form_.conditions, [](const auto &one) { return one.test == FormTest::tuple; });
  }
  bool has_all_rows(const Candidate &candidate) const;
  std::vector<Step> walk_order(const KEY &key) const;
  bool is_clustered(uint32_t index) const { return index == table_.s->primary_key; }
  bool has_servers_order(const Candidate &candidate) const;
  bool covers(const KEY &key) const;
  bool locks_what_it_finds(const Candidate &candidate) const;
  void take(const Candidate &candidate);

  const ResolvedCondition &condition(uint16_t at) const { return conditions_[at]; }
  FormTest test(uint16_t at) const { return form_.conditions[at].test; }
  bool is_list(uint16_t at) const { return test(at) == FormTest::in || test(at) == FormTest::tuple; }
  bool has_list(const Candidate &candidate) const {
    return std::ranges::any_of(candidate.parts, [this](uint16_t at) { return is_list(at); });
  }
  static uint16_t part_field(const KEY &key, uint32_t part) {
    return static_cast<uint16_t>(key.key_part[part].fieldnr - 1);
  }

  const ReadForm &form_;
  const TABLE &table_;
  ResolvedRead &read_;
  std::vector<ResolvedCondition> conditions_;  // one for each of the form's
  std::vector<uint16_t> order_;                // fields of the form's order
};

std::optional<WhyNot> Resolution::run() {
  if (const auto why = check_table()) return why;
  if (const auto why = resolve_columns()) return why;
  if (const auto why = resolve_conditions()) return why;
  Candidate best;
  bool found = false;
  for (uint32_t index = 0; index < table_.s->keys; ++index) {
    Candidate candidate;
    if (!try_index(index, candidate) || (found && !is_better(candidate, best))) continue;
    best = std::move(candidate);
    found = true;
  }
  if (!found) return WhyNot::no_index;
  if (reads_far_more_than_another(best)) return WhyNot::other_index;
  if (best.way == ReadWay::walk && table_.part_info) return WhyNot::partitions;
  if (form_.lock != FormLock::none && !locks_what_it_finds(best)) return WhyNot::locks_rows;
  take(best);
  return std::nullopt;
}

std::optional<WhyNot> Resolution::check_table() const {
  const TABLE_SHARE &share = *table_.s;
  if (share.table_category != TABLE_CATEGORY_USER || share.tmp_table != NO_TMP_TABLE || share.sequence ||
      table_.versioned() || share.db_type()->db_type != DB_TYPE_INNODB) {
    const bool partitioned = table_.part_info && share.db_type()->db_type == DB_TYPE_PARTITION_DB &&
                             share.table_category == TABLE_CATEGORY_USER && !table_.versioned();
    if (!partitioned) return WhyNot::table_feature;
  }
  return std::nullopt;
}

std::optional<WhyNot> Resolution::resolve_columns() {
  if (const auto why = resolve_wanted(form_, table_, read_.columns)) return why;
  for (const FormOrder &order : form_.order) {
    const uint16_t at = field_of(table_, order.column);
    if (at == no_field) return WhyNot::no_column;
    order_.push_back(at);
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
    const bool of_null = test(at) == FormTest::null || test(at) == FormTest::not_null;
    // In a column that cannot be NULL a zero date is NULL, and a new AUTO_INCREMENT value may be.
    if (test(at) == FormTest::null && !field.real_maybe_null()) return WhyNot::null_test;
    if (!of_null && !exactness(field, resolved.exact)) return WhyNot::column_type;
    if (test(at) == FormTest::like && (!is_text(field) || resolved.exact != Exact::text)) return WhyNot::column_type;
    conditions_.push_back(resolved);
  }
  return std::nullopt;
}

bool Resolution::is_usable(const KEY &key) const {
  if (key.is_ignored || key.algorithm == HA_KEY_ALG_LONG_HASH || compat::is_full_text_or_spatial(key)) return false;
  for (uint32_t part = 0; part < key.user_defined_key_parts; ++part) {
    const KEY_PART_INFO &info = key.key_part[part];
    // Neither the start of a value nor a part that goes down.
    if (info.key_part_flag & (HA_PART_KEY_SEG | HA_REVERSE_SORT)) return false;
  }
  return true;
}

uint16_t Resolution::find_condition(uint16_t field, FormTest wanted, const std::vector<uint16_t> &taken) const {
  for (uint16_t at = 0; at < conditions_.size(); ++at) {
    if (condition(at).field == field && test(at) == wanted && std::ranges::find(taken, at) == taken.end()) return at;
  }
  return no_field;
}

void Resolution::find_parts(const KEY &key, Candidate &candidate) const {
  bool has_list = false;
  for (uint32_t part = 0; part < key.user_defined_key_parts; ++part) {
    const uint16_t field = part_field(key, part);
    uint16_t at = find_condition(field, FormTest::equal, candidate.parts);
    if (at == no_field) at = find_condition(field, FormTest::null, candidate.parts);
    if (at == no_field && !has_list) {
      at = find_condition(field, FormTest::in, candidate.parts);
      has_list = at != no_field;
    }
    if (at == no_field) at = find_condition(field, FormTest::tuple, candidate.parts);
    if (at == no_field) return;
    candidate.parts.push_back(at);
  }
}

void Resolution::find_range(const KEY &key, Candidate &candidate) const {
  if (has_list(candidate) || candidate.parts.size() == key.user_defined_key_parts) return;
  const uint16_t field = part_field(key, static_cast<uint32_t>(candidate.parts.size()));
  for (const auto &bounds : {std::pair{FormTest::at_least, FormTest::greater}, {FormTest::at_most, FormTest::less}}) {
    uint16_t at = find_condition(field, bounds.first, {});
    if (at == no_field) at = find_condition(field, bounds.second, {});
    if (at != no_field) candidate.range.push_back(at);
  }
  if (!candidate.range.empty()) return;
  if (const uint16_t at = find_condition(field, FormTest::like, {}); at != no_field) candidate.range.push_back(at);
}

bool Resolution::is_fixed(uint16_t field) const {
  return find_condition(field, FormTest::equal, {}) != no_field ||
         find_condition(field, FormTest::null, {}) != no_field;
}

/// The columns by which a walk of the index goes: InnoDB's has the primary key after its own, in the primary key's
/// directions, but for the columns that it has already.
std::vector<Resolution::Step> Resolution::walk_order(const KEY &key) const {
  std::vector<Step> steps;
  const auto add_all = [&](const KEY &from) {
    for (uint32_t part = 0; part < from.user_defined_key_parts; ++part) {
      const Step step{part_field(from, part), (from.key_part[part].key_part_flag & HA_REVERSE_SORT) != 0};
      if (std::ranges::find(steps, step.field, &Step::field) == steps.end()) steps.push_back(step);
    }
  };
  add_all(key);
  if (table_.s->primary_key < MAX_KEY) {
    const KEY &primary = table_.key_info[table_.s->primary_key];
    const bool whole = std::none_of(primary.key_part, primary.key_part + primary.user_defined_key_parts,
                                    [](const KEY_PART_INFO &part) { return part.key_part_flag & HA_PART_KEY_SEG; });
    if (whole) add_all(primary);
  }
  return steps;
}

/// Whether the walk meets the rows in the order that the form asks for.
bool Resolution::gives_order(const KEY &key, Candidate &candidate) const {
  if (candidate.way == ReadWay::one || order_.empty()) return true;
  const std::vector<Step> steps = walk_order(key);
  size_t at = 0;
  bool has_direction = false;
  std::vector<uint16_t> seen;
  for (size_t one = 0; one < order_.size(); ++one) {
    const uint16_t field = order_[one];
    if (is_fixed(field) || std::ranges::find(seen, field) != seen.end()) continue;
    while (at < steps.size() && steps[at].field != field && is_fixed(steps[at].field)) ++at;
    if (at == steps.size() || steps[at].field != field || is_blank_padded(*table_.field[field])) return false;
    const bool backwards = form_.order[one].descending != steps[at].down;
    if (has_direction && candidate.backwards != backwards) return false;
    candidate.backwards = backwards;
    has_direction = true;
    seen.push_back(field);
    ++at;
  }
  // Rows cannot tie if the order has every column of a unique key that is not fixed.
  const auto ordered = [&](uint16_t field) { return is_fixed(field) || std::ranges::find(seen, field) != seen.end(); };
  candidate.ties = true;
  for (uint32_t index = 0; index < table_.s->keys && candidate.ties; ++index) {
    const KEY &unique = table_.key_info[index];
    if (!(unique.flags & HA_NOSAME) || (unique.flags & HA_NULL_PART_KEY)) continue;
    bool all = true;
    for (uint32_t part = 0; part < unique.user_defined_key_parts; ++part)
      all = all && ordered(part_field(unique, part));
    candidate.ties = !all;
  }
  return true;
}

bool Resolution::try_index(uint32_t index, Candidate &candidate) const {
  const KEY &key = table_.key_info[index];
  if (!is_usable(key)) return false;
  if (!form_.index.empty() && !compat::same_name(system_charset_info, key.name.str, form_.index.c_str())) return false;
  candidate.index = index;
  find_parts(key, candidate);
  const auto by = [&](FormTest wanted) {
    return std::ranges::any_of(candidate.parts, [&](uint16_t at) { return test(at) == wanted; });
  };
  const bool whole = candidate.parts.size() == key.user_defined_key_parts;
  const bool is_unique = whole && (key.flags & HA_NOSAME) && !by(FormTest::null);
  if (has_rows() && (by(FormTest::in) || !has_all_rows(candidate))) return false;
  if (is_unique) {
    candidate.way = has_list(candidate) ? ReadWay::several : ReadWay::one;
  } else {
    // A list is the last part of a walk: later ones would be between its values' rows.
    const auto last =
        std::find_if(candidate.parts.rbegin(), candidate.parts.rend(), [this](uint16_t at) { return is_list(at); });
    if (last != candidate.parts.rend()) candidate.parts.erase(last.base(), candidate.parts.end());
    find_range(key, candidate);
    const bool along_order = !order_.empty() && form_.limit && form_.conditions.empty();
    if (candidate.parts.empty() && candidate.range.empty() && !along_order) return false;
  }
  if (!gives_order(key, candidate)) return false;
  const auto parts = static_cast<uint32_t>(candidate.parts.size());
  switch (candidate.way) {
    case ReadWay::one: candidate.score = 3'000'000; break;
    case ReadWay::several: candidate.score = 2'000'000; break;
    case ReadWay::walk:
      candidate.score = 1 + parts * 100 + (candidate.range.empty() ? 0 : 50) + (whole ? 20 : 0);
      break;
  }
  if (is_clustered(index)) candidate.score += 10;
  candidate.rows = rows_by(index, candidate.parts);
  return true;
}

/// Whether every column of the list of rows is a part of the key.
bool Resolution::has_all_rows(const Candidate &candidate) const {
  for (uint16_t at = 0; at < form_.conditions.size(); ++at)
    if (test(at) == FormTest::tuple && std::ranges::find(candidate.parts, at) == candidate.parts.end()) return false;
  return true;
}

/// Whether it reads, and so locks, no row that the statement does not want: the server unlocks some of those.
bool Resolution::locks_what_it_finds(const Candidate &candidate) const {
  if (candidate.way == ReadWay::one) return true;
  return !candidate.ties && !counts_rows(form_) &&
         candidate.parts.size() + candidate.range.size() == conditions_.size() &&
         std::ranges::none_of(candidate.range, [this](uint16_t at) { return test(at) == FormTest::like; });
}

/// Rows for which the parts hold, by the table's statistics; 0: they say nothing.
double Resolution::rows_by(uint32_t index, const std::vector<uint16_t> &parts) const {
  if (parts.empty()) return 0;
  double lists = 1;
  for (const uint16_t at : parts)
    if (is_list(at)) lists = static_cast<double>(form_.conditions[at].values.size());
  return lists * table_.key_info[index].actual_rec_per_key(static_cast<uint>(parts.size()) - 1);
}

/// By what the statistics say where they say much, else by how much of the key is known.
bool Resolution::is_better(const Candidate &one, const Candidate &other) const {
  const bool walks = one.way == ReadWay::walk && other.way == ReadWay::walk;
  if (walks && one.rows > 0 && other.rows > 0) {
    if (one.rows * times_fewer < other.rows) return true;
    if (other.rows * times_fewer < one.rows) return false;
  }
  return one.score > other.score;
}

/// Whether the server, which may sort, would take another index for that.
bool Resolution::reads_far_more_than_another(const Candidate &candidate) const {
  if (candidate.way != ReadWay::walk || candidate.rows < rows_few) return false;
  // It ends after a few rows if all that it meets are wanted.
  if (form_.limit && candidate.parts.size() + candidate.range.size() == conditions_.size()) return false;
  for (uint32_t index = 0; index < table_.s->keys; ++index) {
    Candidate other;
    if (index == candidate.index || !is_usable(table_.key_info[index])) continue;
    find_parts(table_.key_info[index], other);
    const double rows = rows_by(index, other.parts);
    if (rows > 0 && rows * times_fewer < candidate.rows) return true;
  }
  return false;
}

/// Whether an index that is not the clustered one has every column that is read: the server may walk that instead.
bool Resolution::covers(const KEY &key) const {
  const std::vector<Step> steps = walk_order(key);
  const auto has = [&](uint16_t field) { return std::ranges::find(steps, field, &Step::field) != steps.end(); };
  return std::ranges::all_of(read_.columns, has) &&
         std::ranges::all_of(conditions_, [&](const ResolvedCondition &one) { return has(one.field); });
}

/// Whether any form that the server might choose gives the rows in the order of this one, though none was asked for.
bool Resolution::has_servers_order(const Candidate &candidate) const {
  if (candidate.way == ReadWay::one || form_.exists) return true;
  const bool counts = form_.wanted.size() == 1 && form_.wanted[0].what == FormWanted::What::count;
  if (counts && !form_.limit) return true;
  const KEY &key = table_.key_info[candidate.index];
  // In the order of the primary key, as rows come from the table itself.
  const bool all_fixed =
      candidate.parts.size() == key.user_defined_key_parts && candidate.range.empty() && !has_list(candidate);
  if (!is_clustered(candidate.index) && !all_fixed) return false;
  if (table_.part_info) return false;
  for (uint32_t index = 0; index < table_.s->keys; ++index) {
    if (index == candidate.index || is_clustered(index)) continue;
    const KEY &other = table_.key_info[index];
    if (covers(other)) return false;
    const uint16_t first = part_field(other, 0);
    if (std::ranges::any_of(conditions_, [&](const ResolvedCondition &one) { return one.field == first; }))
      return false;
  }
  return true;
}

void Resolution::take(const Candidate &candidate) {
  read_.way = candidate.way;
  read_.index = candidate.index;
  read_.backwards = candidate.backwards;
  read_.ties = candidate.ties;
  read_.ordered = !order_.empty() || has_servers_order(candidate);
  for (const uint16_t at : candidate.parts) read_.parts.push_back(condition(at));
  for (const uint16_t at : candidate.range) read_.range.push_back(condition(at));
  for (uint16_t at = 0; at < conditions_.size(); ++at) {
    if (std::ranges::find(candidate.parts, at) == candidate.parts.end() &&
        std::ranges::find(candidate.range, at) == candidate.range.end())
      read_.filters.push_back(condition(at));
  }
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

bool exactness(const Field &field, Exact &exact) {
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
  if (form.exists) columns.clear();  // they are there; nobody reads them
  const bool readable = std::ranges::all_of(columns, [&](uint16_t at) { return may_be_read(*table.field[at]); });
  return readable ? std::nullopt : std::optional(WhyNot::computed);
}

}  // namespace postern::mariadb
