#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>
#include <cstring>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/range_keys.h"

namespace postern::mariadb {
namespace {

/// The server keeps the ranges in a protected member.
template <auto Member>
struct RangesOf {
  friend DYNAMIC_ARRAY &ranges_in(QUICK_RANGE_SELECT &quick) { return quick.*Member; }
};
DYNAMIC_ARRAY &ranges_in(QUICK_RANGE_SELECT &quick);
class Revealed : public QUICK_RANGE_SELECT {
 public:
  using QUICK_RANGE_SELECT::ranges;
};
template struct RangesOf<&Revealed::ranges>;

/// A value of the execution, or a literal of the plan.
bool is_value(const Item *item) {
  return item->type() == Item::CONST_ITEM ||
         (item->type() == Item::CACHE_ITEM && item->used_tables() == OUTER_REF_TABLE_BIT);
}

bool are_values(const Item_func &function, uint from) {
  for (uint i = from; i < function.argument_count(); ++i)
    if (!is_value(function.arguments()[i])) return false;
  return true;
}

/// The comparison with its sides exchanged.
Item_func::Functype turned(Item_func::Functype type) {
  switch (type) {
    case Item_func::LT_FUNC: return Item_func::GT_FUNC;
    case Item_func::LE_FUNC: return Item_func::GE_FUNC;
    case Item_func::GT_FUNC: return Item_func::LT_FUNC;
    case Item_func::GE_FUNC: return Item_func::LE_FUNC;
    default: return type;
  }
}

/// NULLs come first.
int compare_keys(const KEY_PART_INFO &part, const uchar *one, const uchar *other) {
  const uint null_byte = part.null_bit != 0 ? 1 : 0;
  return part.field->key_cmp(one + null_byte, other + null_byte);
}

}  // namespace

RangeKeys::RangeKeys(TABLE &table, uint index, Item &condition) : table_(table), key_(table.key_info[index]) {
  if (table.notnull_cond != nullptr || compat::is_full_text_or_spatial(key_)) return;
  parts_.resize(key_.ext_key_parts);
  for (uint i = 0; i < key_.ext_key_parts; ++i) parts_[i].key_part = &key_.key_part[i];
  bool fixed = true;
  if (condition.type() == Item::COND_ITEM &&
      static_cast<Item_cond &>(condition).functype() == Item_func::COND_AND_FUNC) {
    List_iterator_fast<Item> each(*static_cast<Item_cond &>(condition).argument_list());
    while (Item *const one = each++) fixed = fixed && note(*one);
  } else {
    fixed = note(condition);
  }
  if (!fixed || !cut()) parts_.clear();
}

/// One condition of several that all hold. False: it may have a part in the ranges that is not known.
bool RangeKeys::note(Item &condition) {
  if (condition.type() == Item::FUNC_ITEM) {
    auto &function = static_cast<Item_func &>(condition);
    for (uint i = 0; i < std::min(function.argument_count(), 2U); ++i) {
      Part *const part = part_of(function.arguments()[i]);
      // Its own column is the only one that it mentions.
      if (part != nullptr) return note_comparison(function, *part);
    }
  }
  return !mentions_index(&condition);
}

bool RangeKeys::note_comparison(Item_func &function, Part &part) {
  Item **const at = function.arguments();
  const bool is_first = part_of(at[0]) == &part;
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
      if (part.compares() || !is_value(at[is_first ? 1 : 0])) return false;
      part.points.push_back(at[is_first ? 1 : 0]);
      return true;
    case Item_func::IN_FUNC:
      if (part.compares() || static_cast<Item_func_in &>(function).negated || !is_first || !are_values(function, 1))
        return false;
      part.points.assign(at + 1, at + function.argument_count());
      return true;
    case Item_func::BETWEEN:
      if (part.compares() || static_cast<Item_func_between &>(function).negated || !is_first ||
          !are_values(function, 1))
        return false;
      part.lower = at[1];
      part.upper = at[2];
      return true;
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC: break;
    default: return false;
  }
  Item *const value = at[is_first ? 1 : 0];
  const Item_func::Functype type = is_first ? function.functype() : turned(function.functype());
  const bool is_upper = type == Item_func::LT_FUNC || type == Item_func::LE_FUNC;
  Item *&end = is_upper ? part.upper : part.lower;
  if (!part.points.empty() || end != nullptr || !is_value(value)) return false;
  end = value;
  (is_upper ? part.below : part.above) = type == Item_func::LT_FUNC || type == Item_func::GT_FUNC;
  return true;
}

/// The part of a column that equals no other of the index.
RangeKeys::Part *RangeKeys::part_of(const Item *item) {
  Item *const real = const_cast<Item *>(item)->real_item();
  if (real->type() != Item::FIELD_ITEM) return nullptr;
  auto &column = static_cast<Item_field &>(*real);
  if (column.field->table != &table_) return nullptr;
  const auto at = std::ranges::find_if(
      parts_, [&](const Part &one) { return table_.field[one.key_part->fieldnr - 1] == column.field; });
  if (at == parts_.end()) return nullptr;
  for (const Part &one : parts_)
    if (&one != &*at && column.item_equal != nullptr &&
        column.item_equal->contains(table_.field[one.key_part->fieldnr - 1]))
      return nullptr;
  return &*at;
}

/// The server makes ranges of columns that equal a compared one, too.
bool RangeKeys::is_of_index(const Field &field, Item_equal *equal) const {
  return std::ranges::any_of(parts_, [&](const Part &one) {
    Field *const part = table_.field[one.key_part->fieldnr - 1];
    return part == &field || (equal != nullptr && equal->contains(part));
  });
}

bool RangeKeys::mentions_index(Item *item) const {
  item = item->real_item();
  switch (item->type()) {
    case Item::CONST_ITEM: return false;
    case Item::FIELD_ITEM: {
      const auto &column = static_cast<Item_field &>(*item);
      return is_of_index(*column.field, column.item_equal);
    }
    case Item::COND_ITEM: {
      List_iterator_fast<Item> each(*static_cast<Item_cond *>(item)->argument_list());
      while (Item *const one = each++)
        if (mentions_index(one)) return true;
      return false;
    }
    case Item::FUNC_ITEM: {
      const auto &function = static_cast<Item_func &>(*item);
      if (function.functype() == Item_func::MULT_EQUAL_FUNC) return true;
      for (uint i = 0; i < function.argument_count(); ++i)
        if (mentions_index(function.arguments()[i])) return true;
      return false;
    }
    default: return (item->used_tables() & ~OUTER_REF_TABLE_BIT) != 0;
  }
}

/// Keeps the parts that make ranges: the first ones, up to one that is not equal to values. False: a column after those
/// has a part in the ranges, or a part is not stored as a whole or in another order.
bool RangeKeys::cut() {
  size_t used = 0;
  while (used < parts_.size() && !parts_[used].points.empty()) ++used;
  if (used < parts_.size() && parts_[used].has_interval()) ++used;
  if (used == 0 || (used < parts_.size() && parts_[used].compares())) return false;
  parts_.resize(used);
  uint length = 0;
  for (Part &one : parts_) {
    if ((one.key_part->key_part_flag & (HA_PART_KEY_SEG | HA_REVERSE_SORT)) != 0) return false;
    one.keys.resize(one.key_part->store_length * std::max<size_t>(one.points.size(), 2));
    one.each.resize(one.points.size());
    length += one.key_part->store_length;
  }
  min_.resize(length);
  max_.resize(length);
  return true;
}

/// As Field::get_mm_leaf() makes it of a value that the column holds exactly. False: it is another.
bool RangeKeys::make_key(THD *thd, const KEY_PART_INFO &part, Item *value, uchar *key) {
  Field &field = *part.field;
  if (value->save_in_field_no_warnings(&field, true) != 0 || field.is_real_null() ||
      stored_field_cmp_to_item(thd, &field, value) != 0)
    return false;
  if (part.null_bit != 0) *key++ = 0;
  field.get_key_image(key, part.length, Field::itRAW);
  return true;
}

bool RangeKeys::make_points(THD *thd, Part &part) {
  const KEY_PART_INFO &key_part = *part.key_part;
  for (size_t i = 0; i < part.points.size(); ++i) {
    uchar *const key = part.keys.data() + i * key_part.store_length;
    if (!make_key(thd, key_part, part.points[i], key)) return false;
    part.each[i] = key;
  }
  if (part.each.size() == 1) return true;
  std::ranges::sort(part.each,
                    [&](const uchar *one, const uchar *other) { return compare_keys(key_part, one, other) < 0; });
  // Equal ones make one range.
  return std::ranges::adjacent_find(part.each, [&](const uchar *one, const uchar *other) {
           return compare_keys(key_part, one, other) == 0;
         }) == part.each.end();
}

bool RangeKeys::make_interval(THD *thd, Part &part) {
  const KEY_PART_INFO &key_part = *part.key_part;
  uchar *const lower = part.keys.data();
  uchar *const upper = lower + key_part.store_length;
  if (part.lower != nullptr && !make_key(thd, key_part, part.lower, lower)) return false;
  if (part.upper != nullptr && !make_key(thd, key_part, part.upper, upper)) return false;
  // Where they are equal the range is another, or there is none.
  return part.lower == nullptr || part.upper == nullptr || compare_keys(key_part, lower, upper) < 0;
}

/// False: these values make other ranges.
bool RangeKeys::make_keys(THD *thd) {
  for (Part &one : parts_)
    if (!(one.has_interval() ? make_interval(thd, one) : make_points(thd, one))) return false;
  const Part &last = parts_.back();
  uint length = static_cast<uint>(min_.size());
  min_length_ = max_length_ = length;
  flags_ = EQ_RANGE;
  if (!last.has_interval()) return true;
  const KEY_PART_INFO &key_part = *last.key_part;
  uchar *const min = min_.data() + length - key_part.store_length;
  uchar *const max = max_.data() + length - key_part.store_length;
  flags_ = (last.above ? NEAR_MIN : 0) | (last.below ? NEAR_MAX : 0);
  if (last.lower != nullptr) {
    memcpy(min, last.keys.data(), key_part.store_length);
  } else if (key_part.null_bit != 0) {
    // NULLs are below.
    memset(min, 0, key_part.store_length);
    *min = 1;
    flags_ |= NEAR_MIN;
  } else {
    min_length_ -= key_part.store_length;
    if (min_length_ == 0) flags_ |= NO_MIN_RANGE;
  }
  if (last.upper != nullptr) {
    memcpy(max, last.keys.data() + key_part.store_length, key_part.store_length);
  } else {
    max_length_ -= key_part.store_length;
    if (max_length_ == 0) flags_ |= NO_MAX_RANGE;
  }
  return true;
}

/// Makes the keys of each range, and calls `use` with its number. False: it has returned false.
template <class Use>
bool RangeKeys::for_each_range(Use use) {
  const size_t equal = parts_.size() - (parts_.back().has_interval() ? 1 : 0);
  size_t count = 1;
  for (size_t i = 0; i < equal; ++i) count *= parts_[i].each.size();
  for (size_t number = 0; number < count; ++number) {
    // The last part's points follow each other.
    size_t rest = number;
    size_t end = 0;
    for (size_t i = 0; i < equal; ++i) end += parts_[i].key_part->store_length;
    for (size_t i = equal; i-- > 0;) {
      const Part &part = parts_[i];
      const uint length = part.key_part->store_length;
      end -= length;
      const uchar *const key = part.each[rest % part.each.size()];
      rest /= part.each.size();
      memcpy(min_.data() + end, key, length);
      memcpy(max_.data() + end, key, length);
    }
    if (!use(number, count)) return false;
  }
  return true;
}

/// Calls `use` with each range of `made`, while it has the keys of that range in min_ and max_.
template <class Use>
bool RangeKeys::use_ranges(QUICK_RANGE_SELECT &made, Use use) {
  DYNAMIC_ARRAY &ranges = ranges_in(made);
  return for_each_range([&](size_t number, size_t count) {
    return count == ranges.elements && use(*reinterpret_cast<QUICK_RANGE **>(ranges.buffer)[number]);
  });
}

void RangeKeys::compare(THD *thd, QUICK_RANGE_SELECT &made) {
  same_ = false;
  if (parts_.empty() || !make_keys(thd)) return;
  const auto map_of = [&](uint length) {
    return make_prev_keypart_map(parts_.size() - (length == min_.size() ? 0 : 1));
  };
  const key_part_map min_map = map_of(min_length_);
  const key_part_map max_map = map_of(max_length_);
  same_ = use_ranges(made, [&](const QUICK_RANGE &range) {
    return (range.flag & ~UNIQUE_RANGE) == flags_ && range.min_length == min_length_ &&
           range.max_length == max_length_ && range.min_keypart_map == min_map && range.max_keypart_map == max_map &&
           memcmp(range.min_key, min_.data(), min_length_) == 0 && memcmp(range.max_key, max_.data(), max_length_) == 0;
  });
}

bool RangeKeys::write(THD *thd, QUICK_RANGE_SELECT &made) {
  return same_ && make_keys(thd) && use_ranges(made, [&](const QUICK_RANGE &range) {
           memcpy(range.min_key, min_.data(), min_length_);
           memcpy(range.max_key, max_.data(), max_length_);
           return true;
         });
}

}  // namespace postern::mariadb
