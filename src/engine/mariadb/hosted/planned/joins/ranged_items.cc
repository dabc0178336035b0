#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/joins/ranged_items.h"

#include <utility>

namespace postern::mariadb {
namespace {

/// While one lives the values are constants.
class Shown {
 public:
  explicit Shown(std::span<ValueItem *const> values) : values_(values) {
    for (ValueItem *const value : values_) value->show(true);
  }
  ~Shown() {
    for (ValueItem *const value : values_) value->show(false);
  }
  Shown(const Shown &) = delete;
  Shown &operator=(const Shown &) = delete;

 private:
  const std::span<ValueItem *const> values_;
};

template <class Base>
class Ranged : public Base {
 public:
  template <class... Arguments>
  explicit Ranged(std::span<ValueItem *const> values, Arguments &&...arguments)
      : Base(std::forward<Arguments>(arguments)...), values_(values) {}

  SEL_TREE *get_mm_tree(RANGE_OPT_PARAM *param, Item **condition) override {
    // A condition that is false for these values may be true for others.
    param->remove_false_where_parts = false;
    const Shown shown(values_);
    return Base::get_mm_tree(param, condition);
  }

 protected:
  /// It is never copied for another place.
  Item *shallow_copy(THD *) const override { return nullptr; }
  Item *deep_copy(THD *) const override { return nullptr; }
  std::span<ValueItem *const> values() const { return values_; }

 private:
  const std::span<ValueItem *const> values_;
};

/// A comparison that finds several rows. For `=` the optimizer uses outer references, too.
template <class Base>
class RangedKey : public Ranged<Base> {
 public:
  using Ranged<Base>::Ranged;

  void add_key_fields(JOIN *join, KEY_FIELD **fields, uint *and_level, table_map usable,
                      SARGABLE_PARAM **sargables) override {
    {
      const Shown shown(this->values());
      this->update_used_tables();
      Base::add_key_fields(join, fields, and_level, usable, sargables);
    }
    this->update_used_tables();
    if (this->functype() == Item_func::NE_FUNC) return;
    for (uint i = 0; i < this->argument_count(); ++i) note_column(*this->arguments()[i]->real_item(), usable);
  }

 private:
  /// The server looks for ranges of indexes that begin with a column which is compared with a constant. Earlier columns
  /// may be equal to values of the execution, which it does not treat as constants.
  static void note_column(Item &column, table_map usable) {
    if (column.type() != Item::FIELD_ITEM || (column.used_tables() & usable) == 0) return;
    const Field &field = *static_cast<Item_field &>(column).field;
    key_map keys = field.part_of_key;
    keys.intersect(field.table->keys_in_use_for_query);
    field.table->reginfo.join_tab->const_keys.merge(keys);
  }
};

class RangedList final : public RangedKey<Item_func_in>, public ValueList {
 public:
  using RangedKey<Item_func_in>::RangedKey;

  /// With constants it compares by bisection.
  bool fix_length_and_dec(THD *thd) override {
    const Shown shown(values());
    return Item_func_in::fix_length_and_dec(thd);
  }
  void sort_values() override {
    if (array == nullptr) return;
    have_null = false;
    fix_in_vector();
  }
};

/// Of rows: it compares one by one, and keeps no values.
class RangedRows final : public RangedKey<Item_func_in> {
 public:
  using RangedKey<Item_func_in>::RangedKey;
};

template <class Base>
Item *ranged_pair(THD *thd, Item_func &item, std::span<ValueItem *const> values) {
  return new (thd->mem_root) RangedKey<Base>(values, thd, item.arguments()[0], item.arguments()[1]);
}

Item *ranged_between(THD *thd, Item_func &item, std::span<ValueItem *const> values) {
  Item **const at = item.arguments();
  auto *const made = new (thd->mem_root) RangedKey<Item_func_between>(values, thd, at[0], at[1], at[2]);
  if (made != nullptr) made->negated = static_cast<Item_func_between &>(item).negated;
  return made;
}

Item *ranged_list(THD *thd, Item_func &item, std::span<ValueItem *const> values, ValueList *&list) {
  List<Item> all;
  for (uint i = 0; i < item.argument_count(); ++i)
    if (all.push_back(item.arguments()[i], thd->mem_root)) return nullptr;
  const bool negated = static_cast<Item_func_in &>(item).negated;
  if (item.arguments()[0]->type() == Item::ROW_ITEM) {
    auto *const rows = new (thd->mem_root) RangedRows(values, thd, all);
    if (rows != nullptr) rows->negated = negated;
    return rows;
  }
  auto *const made = new (thd->mem_root) RangedList(values, thd, all);
  if (made == nullptr) return nullptr;
  made->negated = negated;
  list = made;
  return made;
}

/// Without ESCAPE, as the parser makes it then.
Item *ranged_pattern(THD *thd, Item_func &item, std::span<ValueItem *const> values) {
  const bool none = (thd->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES) != 0;
  auto *const escape = new (thd->mem_root) Item_string_ascii(thd, none ? "" : "\\", none ? 0 : 1);
  if (escape == nullptr) return nullptr;
  auto *const made = new (thd->mem_root)
      RangedKey<Item_func_like>(values, thd, item.arguments()[0], item.arguments()[1], escape, false);
  if (made != nullptr) made->negated = static_cast<Item_func_like &>(item).negated;
  return made;
}

}  // namespace

Item *make_ranged(THD *thd, Item_func &item, std::span<ValueItem *const> values, ValueList *&list) {
  switch (item.functype()) {
    case Item_func::EQ_FUNC:
      return new (thd->mem_root) Ranged<Item_func_eq>(values, thd, item.arguments()[0], item.arguments()[1]);
    case Item_func::NE_FUNC: return ranged_pair<Item_func_ne>(thd, item, values);
    case Item_func::LT_FUNC: return ranged_pair<Item_func_lt>(thd, item, values);
    case Item_func::LE_FUNC: return ranged_pair<Item_func_le>(thd, item, values);
    case Item_func::GT_FUNC: return ranged_pair<Item_func_gt>(thd, item, values);
    case Item_func::GE_FUNC: return ranged_pair<Item_func_ge>(thd, item, values);
    case Item_func::BETWEEN: return ranged_between(thd, item, values);
    case Item_func::IN_FUNC: return ranged_list(thd, item, values, list);
    case Item_func::LIKE_FUNC: return ranged_pattern(thd, item, values);
    default: return nullptr;
  }
}

}  // namespace postern::mariadb
