#include "engine/server/server.h"

#include "engine/rows/filter.h"

#include "engine/server/convert.h"
#include "engine/server/differences.h"

namespace postern::rows {

Failure Filters::prepare(THD *thd, OpenTable &table, std::span<const Filter> filters) {
  prepared_.clear();
  images_.clear();
  for (const Filter &filter : filters) {
    if (filter.column >= table.filter_columns.size()) return Failure::no_filter_column;
    Field *const field = table.table->field[table.filter_columns[filter.column]];
    Prepared prepared{filter.miss, filter.comparison,   filter.value.is_null(), field, images_.size(), 0,
                      false,       filter.value.bytes()};
    if (!prepared.null) {
      if (has_flag(*field, BLOB_FLAG)) return Failure::filter_on_blob;
      if (table.spec->unicode && foreign_charset(*field) != nullptr) return Failure::index_unusable;  // no door asks so
      const bool ordered = filter.comparison != Comparison::equal && filter.comparison != Comparison::unequal;
      const Fit fit = ordered ? place(thd, field, filter.value.bytes()) : store(thd, field, filter.value.bytes());
      prepared.as_text = fit == Fit::as_text;
      if (fit == Fit::unfit) prepared.comparison = Comparison::never;
      else if (!prepared.as_text) prepared.comparison = sql::adjusted(filter.comparison, fit);
      if (fit != Fit::exact && filter.comparison == Comparison::unequal) {
        // Every row differs from a value that the column cannot hold.
        prepared.comparison = Comparison::unequal;
        prepared.field = nullptr;
      }
      if (field->type() == MYSQL_TYPE_BIT) prepared.number = field->val_int();
      const uchar *const image = address_of(*field);
      images_.insert(images_.end(), image, image + field->pack_length_in_rec());
    }
    prepared_.push_back(prepared);
  }
  return Failure::none;
}

bool Filters::holds(const Prepared &filter) const {
  if (filter.comparison == Comparison::never) return false;
  if (filter.field == nullptr) return true;
  const bool row_is_null = filter.field->is_null();
  int order;
  if (row_is_null || filter.null) {
    order = static_cast<int>(filter.null) - static_cast<int>(row_is_null);
  } else if (filter.as_text) {
    order = compare_as_text(filter.field, filter.text);
  } else if (filter.field->type() == MYSQL_TYPE_BIT) {
    const auto ours = static_cast<ulonglong>(filter.field->val_int());
    const auto theirs = static_cast<ulonglong>(filter.number);
    order = ours < theirs ? -1 : ours > theirs ? 1 : 0;
  } else {
    order = filter.field->cmp(address_of(*filter.field), images_.data() + filter.image);
  }
  switch (filter.comparison) {
    case Comparison::equal: return order == 0;
    case Comparison::unequal: return order != 0;
    case Comparison::greater: return order > 0;
    case Comparison::at_least: return order >= 0;
    case Comparison::less: return order < 0;
    case Comparison::at_most: return order <= 0;
    case Comparison::never: return false;
  }
  return false;
}

Filters::Verdict Filters::judge() const {
  for (const Prepared &filter : prepared_)
    if (!holds(filter)) return filter.miss == Filter::Miss::skip ? Verdict::skip : Verdict::stop;
  return Verdict::pass;
}

}  // namespace postern::rows
