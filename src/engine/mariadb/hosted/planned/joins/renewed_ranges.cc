#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/mariadb/hosted/planned/joins/plan_context.h"
#include "engine/mariadb/hosted/planned/joins/renewed_ranges.h"

namespace postern::mariadb {
namespace {

/// Statistics of the index are enough for ranges that have been chosen.
constexpr ulong equal_ranges_counted = 1;
constexpr size_t block_of_lists = 512;  // bytes

/// With it the optimizer finds ranges as where the plan was made.
class AsPlanned {
 public:
  explicit AsPlanned(THD *thd)
      : thd_(thd),
        switches_(std::exchange(thd->variables.optimizer_switch, thd->variables.optimizer_switch & ~switches_off)),
        counted_(std::exchange(thd->variables.eq_range_index_dive_limit, equal_ranges_counted)) {}
  ~AsPlanned() {
    thd_->variables.optimizer_switch = switches_;
    thd_->variables.eq_range_index_dive_limit = counted_;
  }
  AsPlanned(const AsPlanned &) = delete;
  AsPlanned &operator=(const AsPlanned &) = delete;

 private:
  THD *const thd_;
  const ulonglong switches_;
  const uint counted_;
};

/// The server keeps the number of parts by which a range is read downwards in a private member.
template <auto Member>
struct PartsOf {
  friend uint parts_read_down(QUICK_SELECT_DESC &quick) { return quick.*Member; }
};
uint parts_read_down(QUICK_SELECT_DESC &quick);
template struct PartsOf<&QUICK_SELECT_DESC::used_key_parts>;

/// The number of parts by which it is read downwards; nullopt: upwards. Rows of one value of the whole index are read
/// downwards only by more parts than it has: by those of the primary key, which InnoDB appends.
std::optional<uint> parts_down(QUICK_SELECT_I &quick) {
  if (quick.get_type() != QUICK_SELECT_I::QS_TYPE_RANGE_DESC) return std::nullopt;
  return parts_read_down(static_cast<QUICK_SELECT_DESC &>(quick));
}

/// The condition of a table's rows without the guard of an outer join: it holds for rows that are read.
Item *without_guard(Item *condition) {
  while (condition != nullptr && condition->type() == Item::FUNC_ITEM &&
         static_cast<Item_func *>(condition)->functype() == Item_func::TRIG_COND_FUNC)
    condition = static_cast<Item_func *>(condition)->arguments()[0];
  return condition;
}

}  // namespace

bool RenewedRanges::note(JOIN *join) {
  for (JOIN_TAB *tab = first_linear_tab(join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join, tab, WITH_BUSH_ROOTS)) {
    if (tab->quick != nullptr) return false;
    for (SQL_SELECT *const select : {tab->select, tab->filesort != nullptr ? tab->filesort->select : nullptr}) {
      if (select == nullptr || select->quick == nullptr) continue;
      Item *const pushed = select->pre_idx_push_select_cond;
      Item *const condition = without_guard(pushed != nullptr ? pushed : select->cond);
      if (condition == nullptr) return false;
      const uint index = select->quick->index;
      all_.push_back({.select = select,
                      .condition = condition,
                      .index = index,
                      .down_by = parts_down(*select->quick),
                      .keys = RangeKeys(*select->head, index, *condition)});
    }
  }
  return true;
}

bool RenewedRanges::renew(THD *thd) {
  const AsPlanned as_planned(thd);
  return std::ranges::all_of(all_, [thd](RangedRead &one) { return rewrite(thd, one) || remake(thd, one); });
}

/// Writes the values into the ranges of an earlier execution, as the server keeps those of a subquery for all outer
/// rows. Their THD may be another session's: only their maker uses it. False: they have to be made anew.
bool RenewedRanges::rewrite(THD *thd, RangedRead &one) {
  auto *const quick = static_cast<QUICK_RANGE_SELECT *>(one.select->quick);
  return quick != nullptr && one.keys.write(thd, *quick) && quick->init() == 0;
}

bool RenewedRanges::remake(THD *thd, RangedRead &one) {
  SQL_SELECT &select = *one.select;
  key_map only;
  only.clear_all();
  only.set_bit(one.index);
  Item *const condition = std::exchange(select.cond, one.condition);
  const auto found =
      select.test_quick_select(thd, only, 0, HA_POS_ERROR, true, true, false, true, Item_func::BITMAP_NONE);
  select.cond = condition;
  if (found != SQL_SELECT::OK || select.quick == nullptr || select.quick->get_type() != QUICK_SELECT_I::QS_TYPE_RANGE) {
    // By statistics of no rows it makes ranges that are not to be read, and rewrite() has not seen.
    select.set_quick(nullptr);
    return false;
  }
  one.keys.compare(thd, static_cast<QUICK_RANGE_SELECT &>(*select.quick));
  if (!one.down_by) return true;
  if (one.downwards == nullptr) one.downwards = std::make_unique<PlanMemory>(block_of_lists);
  free_root(&one.downwards->root, MYF(MY_MARK_BLOCKS_FREE));
  MEM_ROOT *const usual = std::exchange(thd->mem_root, &one.downwards->root);
  QUICK_SELECT_I *const reversed = select.quick->make_reverse(*one.down_by);
  thd->mem_root = usual;
  select.set_quick(reversed);
  return reversed != nullptr;
}

}  // namespace postern::mariadb
