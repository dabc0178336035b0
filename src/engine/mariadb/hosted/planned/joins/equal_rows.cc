// equal_rows.cc: columns that may be constant while a SELECT is executed.
//
// To the server a column is constant if WHERE makes it equal to a constant or to another such column, and so is each
// column of a table of which a whole unique key is constant, or which is only a row of NULLs beside an outer join that
// cannot be true. Here every column that is compared with anything but another column counts as one that is equal to a
// constant. An outer join may become an inner one: both are looked at.
#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/joins/equal_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace postern::mariadb {
namespace {

/// 2 to the power of it are looked at.
constexpr size_t outer_joins_max = 4;

const Field *field_of(Item *item) {
  Item *const real = item->real_item();
  return real->type() == Item::FIELD_ITEM ? static_cast<Item_field *>(real)->field : nullptr;
}

class ConstantColumns : public Field_enumerator {
 public:
  void visit_field(Item_field *item) override { add(item->field); }
  void add_table(const TABLE &table) {
    for (Field **field = table.field; *field != nullptr; ++field) add(*field);
  }
  void note(Item *condition);
  /// Adds the columns that follow from these, in these tables.
  void complete(const std::vector<const TABLE *> &tables);
  bool has(const Field *field) const { return std::ranges::find(columns_, field) != columns_.end(); }

 private:
  bool add(const Field *field) {
    if (field == nullptr || has(field)) return false;
    columns_.push_back(field);
    return true;
  }
  bool has_unique_key_of(const TABLE &table) const;

  std::vector<const Field *> columns_;
  std::vector<std::pair<const Field *, const Field *>> equal_;
};

void ConstantColumns::note(Item *condition) {
  if (condition == nullptr) return;
  if (condition->type() == Item::COND_ITEM) {
    List_iterator_fast<Item> all(*static_cast<Item_cond *>(condition)->argument_list());
    while (Item *const one = all++) note(one);
    return;
  }
  if (condition->type() == Item::FUNC_ITEM) {
    auto &function = *static_cast<Item_func *>(condition);
    if (function.functype() == Item_func::EQ_FUNC || function.functype() == Item_func::EQUAL_FUNC) {
      const Field *const left = field_of(function.arguments()[0]);
      const Field *const right = field_of(function.arguments()[1]);
      if (left != nullptr && right != nullptr) return equal_.emplace_back(left, right), void();
    }
  }
  condition->walk(&Item::enumerate_field_refs_processor, true, static_cast<Field_enumerator *>(this));
}

bool ConstantColumns::has_unique_key_of(const TABLE &table) const {
  for (uint at = 0; at < table.s->keys; ++at) {
    const KEY &key = table.key_info[at];
    if ((key.flags & HA_NOSAME) != 0 &&
        std::all_of(key.key_part, key.key_part + key.user_defined_key_parts,
                    [&](const KEY_PART_INFO &part) { return has(table.field[part.fieldnr - 1]); }))
      return true;
  }
  return false;
}

void ConstantColumns::complete(const std::vector<const TABLE *> &tables) {
  size_t before = 0;
  do {
    before = columns_.size();
    for (const auto &[left, right] : equal_) {
      if (has(left)) add(right);
      else if (has(right)) add(left);
    }
    for (const TABLE *const table : tables)
      if (has_unique_key_of(*table)) add_table(*table);
  } while (columns_.size() != before);
}

/// Outer joins in the order in which they are met.
void find_outer_joins(List<TABLE_LIST> &joined, std::vector<TABLE_LIST *> &outer) {
  List_iterator_fast<TABLE_LIST> all(joined);
  while (TABLE_LIST *const one = all++) {
    if (one->outer_join != 0) outer.push_back(one);
    if (one->nested_join != nullptr) find_outer_joins(one->nested_join->join_list, outer);
  }
}

/// Its tables may be rows of NULLs.
void add_tables_of(TABLE_LIST &joined, ConstantColumns &constant) {
  if (joined.nested_join == nullptr) {
    if (joined.table != nullptr) constant.add_table(*joined.table);
    return;
  }
  List_iterator_fast<TABLE_LIST> all(joined.nested_join->join_list);
  while (TABLE_LIST *const one = all++) add_tables_of(*one, constant);
}

/// `nulls`: of `outer`, the joins that stay outer ones.
void note_joins(List<TABLE_LIST> &joined, const std::vector<TABLE_LIST *> &outer, size_t nulls,
                ConstantColumns &constant) {
  List_iterator_fast<TABLE_LIST> all(joined);
  while (TABLE_LIST *const one = all++) {
    const auto at = static_cast<size_t>(std::ranges::find(outer, one) - outer.begin());
    if (at < outer.size() && (nulls >> at & 1) != 0) add_tables_of(*one, constant);
    else constant.note(one->on_expr);
    if (one->nested_join != nullptr) note_joins(one->nested_join->join_list, outer, nulls, constant);
  }
}

}  // namespace

bool may_be_equal(JOIN &join) {
  SELECT_LEX &select = *join.select_lex;
  std::vector<TABLE_LIST *> outer;
  find_outer_joins(*select.join_list, outer);
  if (outer.size() > outer_joins_max) return true;
  std::vector<const TABLE *> tables;
  List_iterator_fast<TABLE_LIST> leaves(select.leaf_tables);
  while (const TABLE_LIST *const one = leaves++) tables.push_back(one->table);
  for (size_t nulls = 0; nulls < size_t{1} << outer.size(); ++nulls) {
    ConstantColumns constant;
    constant.note(join.conds);
    note_joins(*select.join_list, outer, nulls, constant);
    constant.complete(tables);
    bool varies = false;
    List_iterator_fast<Item> listed(select.item_list);
    while (Item *const one = listed++) {
      const Field *const field = field_of(one);
      varies = varies || (field != nullptr && !constant.has(field));
    }
    if (!varies) return true;
  }
  return false;
}

}  // namespace postern::mariadb
