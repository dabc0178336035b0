#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/index_choices.h"
#include "engine/sql/plans/row_classes.h"

namespace postern::mariadb {
namespace {

/// Counting costs two searches of the index.
constexpr size_t choices_max = sql::RowClasses::letters_max;
/// With more classes counting stops: planning costs more than a worse plan, which is given back.
constexpr size_t classes_max = 24;
/// So many examined rows are expected.
constexpr uint64_t rows_few = 64;
constexpr uint64_t times_more = 4;

/// 0: up to 16 rows; each further class has four times the rows.
char class_of(uint64_t rows) {
  constexpr int bits_of_first = 4;
  const int above = std::bit_width((std::max<uint64_t>(rows, 1) - 1) >> bits_of_first);
  return static_cast<char>('a' + (above + 1) / 2);
}

int index_of(const JOIN_TAB &tab) {
  if (const QUICK_SELECT_I *const quick = ranges_of(tab); quick != nullptr) return static_cast<int>(quick->index);
  return tab.type == JT_NEXT || tab.type == JT_ALL || tab.ref.key < 0 ? TableAccess::none : tab.ref.key;
}

}  // namespace

const QUICK_SELECT_I *ranges_of(const JOIN_TAB &tab) {
  const SQL_SELECT *const select = tab.filesort != nullptr ? tab.filesort->select : tab.select;
  return select != nullptr && (tab.type == JT_ALL || tab.type == JT_RANGE) ? select->quick : nullptr;
}

bool IndexChoices::has_what_is_wanted() const {
  return std::ranges::equal(wanted_.tables, accesses_, [](const TableAccess &wanted, const TableAccess &found) {
    return wanted.index == TableAccess::unknown || found.index == TableAccess::unknown || wanted.index == found.index;
  });
}

void IndexChoices::note_accesses(std::span<TABLE *const> tables, std::span<JOIN *const> joins) {
  accesses_.assign(tables.size(), {});
  for (JOIN *const join : joins) {
    if (join->zero_result_cause != nullptr || join->join_tab == nullptr) continue;
    for (const JOIN_TAB *tab = first_linear_tab(join, WITHOUT_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
         tab = next_linear_tab(join, const_cast<JOIN_TAB *>(tab), WITHOUT_BUSH_ROOTS)) {
      const auto at = std::ranges::find(tables, tab->table);
      if (at != tables.end()) accesses_[static_cast<size_t>(at - tables.begin())].index = index_of(*tab);
    }
  }
  for (const Choice &one : choices_) {
    const auto at = static_cast<size_t>(std::ranges::find(tables, one.table) - tables.begin());
    if (accesses_[at].index == TableAccess::unknown) continue;
    const auto is_same_table = [&](const Choice &other) { return other.table == one.table; };
    const auto is_taken = [&](const Choice &other) {
      return other.table == one.table && static_cast<int>(other.index) == accesses_[at].index;
    };
    if (std::ranges::count_if(choices_, is_same_table) > 1 || std::ranges::none_of(choices_, is_taken)) looks_ = true;
  }
}

void IndexChoices::give_hints(std::span<TABLE *const> tables) const {
  if (hints_ == Hints::none || wanted_.tables.size() != tables.size()) return;
  for (size_t i = 0; i < tables.size(); ++i) {
    TABLE &table = *tables[i];
    const int index = wanted_.tables[i].index;
    if (index == TableAccess::unknown) continue;
    key_map only;
    only.clear_all();
    if (index != TableAccess::none) only.set_bit(static_cast<uint>(index));
    table.keys_in_use_for_query.intersect(only);
    if (hints_ == Hints::indexes_by_force && index != TableAccess::none) table.force_index = true;
  }
}

bool IndexChoices::note(std::span<TABLE *const> tables, std::span<const Field *const> equal, Bytes of) {
  for (TABLE *const table : tables) note_indexes_of(*table, equal);
  if (choices_.size() > choices_max) choices_.resize(choices_max);
  serves_.push_back(row_classes());
  if (!of.empty() && !choices_.empty()) {
    // It may be tried for values that had such numbers of rows before.
    looks_ = of_classes_ = true;
    serves_.emplace_back(of);
  }
  if (!wanted_.none) return true;
  looks_ = true;
  return !choices_.empty() && std::ranges::none_of(serves_[0], [](char one) { return one > class_of(rows_few); });
}

void IndexChoices::note_indexes_of(TABLE &table, std::span<const Field *const> equal) {
  const size_t before = choices_.size();
  for (uint index = 0; index < table.s->keys; ++index) {
    const KEY &key = table.key_info[index];
    if (!table.keys_in_use_for_query.is_set(index) || compat::is_full_text_or_spatial(key)) continue;
    const auto is_given = [&](const KEY_PART_INFO &part) {
      return (part.key_part_flag & HA_PART_KEY_SEG) == 0 &&
             std::ranges::find(equal, table.field[part.fieldnr - 1]) != equal.end();
    };
    uint parts = 0;
    while (parts < key.user_defined_key_parts && is_given(key.key_part[parts])) ++parts;
    if (parts == key.user_defined_key_parts && (key.flags & HA_NOSAME) != 0) return choices_.resize(before);
    if (parts != 0) choices_.push_back({.table = &table, .index = index, .parts = parts});
  }
}

/// The classes for the values in the columns' records, which were just taken; the tables are locked.
std::string IndexChoices::row_classes() const {
  std::string classes;
  std::array<uchar, MAX_KEY_LENGTH + MAX_FIELD_WIDTH> bytes{};  // as the server has for one
  for (const Choice &one : choices_) {
    KEY &key = one.table->key_info[one.index];
    uint length = 0;
    for (uint i = 0; i < one.parts; ++i) length += key.key_part[i].store_length;
    key_copy(bytes.data(), one.table->record[0], &key, length);
    const key_part_map parts = make_prev_keypart_map(one.parts);
    const key_range from{bytes.data(), length, parts, HA_READ_KEY_EXACT};
    const key_range to{bytes.data(), length, parts, HA_READ_AFTER_KEY};
    page_range pages = unused_page_range;
    classes += class_of(one.table->file->records_in_range(one.index, &from, &to, &pages));
  }
  return classes;
}

bool IndexChoices::suit(Executed &executed) {
  if (!looks_ || !executed.row_classes.empty()) return true;
  std::string classes = row_classes();
  if (std::ranges::find(serves_, classes) != serves_.end()) return true;
  if (!of_classes_ && std::ranges::find(others_, classes) == others_.end()) {
    if (others_.size() == classes_max) {
      looks_ = false;
      return true;
    }
    others_.push_back(classes);
  }
  executed.row_classes = std::move(classes);
  return false;
}

void IndexChoices::note_examined(uint64_t examined) {
  if (choices_.empty() || looks_) return;
  if (most_examined_ == 0) most_examined_ = std::max(examined, rows_few);
  else if (others_.empty() && examined > times_more * most_examined_) looks_ = true;
}

}  // namespace postern::mariadb
