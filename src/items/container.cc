#include "items/container.h"

#include <utility>

#include "base/limits.h"

namespace postern::items {
namespace {

constexpr Bytes blanks = " \t";

bool is_none(const std::string &column) {
  return column.empty() || column == "0";
}

Bytes trimmed(Bytes text) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == Bytes::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Lists of columns are separated by any of these, whatever joins the values.
constexpr Bytes list_separators = ",;| \t";

}  // namespace

Container::Container(ContainerRow row) : row_(std::move(row)), place_(row_.database + "/" + row_.table) {
  key_columns_ = add_columns(row_.key_columns, true);
  value_columns_ = add_columns(row_.value_columns, true);
  flags_column_ = add_meta_column(row_.flags_column);
  cas_column_ = add_meta_column(row_.cas_column);
  expiry_column_ = add_meta_column(row_.expiry_column);
  find_problem();
}

void Container::find_problem() {
  if (row_.database.empty()) problem_ = "db_schema is empty";
  else if (row_.table.empty()) problem_ = "db_table is empty";
  else if (key_columns_ == 0) problem_ = "key_columns names no column";
  else if (value_columns_ == 0) problem_ = "value_columns names no column";
  else if (row_.index.empty()) problem_ = "unique_idx_name_on_key is empty";
  else if (key_columns_ > limits::key_parts_max) problem_ = "key_columns names more columns than a key may have";
  else if (key_columns_ + value_columns_ > 1 && row_.separator.empty() && (key_columns_ > 1 || value_columns_ > 1))
    problem_ = "several columns need a separator, and config_options has an empty one";
}

/// Appends the names of `list` to the columns to open and returns their number.
uint32_t Container::add_columns(Bytes list, bool several) {
  uint32_t count = 0;
  while (!list.empty()) {
    const size_t end = several ? list.find_first_of(list_separators) : Bytes::npos;
    const Bytes name = trimmed(list.substr(0, end));
    list = end == Bytes::npos ? Bytes{} : list.substr(end + 1);
    if (name.empty()) continue;
    column_names_.push_back(name);
    ++count;
  }
  columns_ += count;
  return count;
}

uint32_t Container::add_meta_column(const std::string &column) {
  if (is_none(column)) return no_column;
  const uint32_t position = columns_;
  return add_columns(column, false) == 1 ? position : no_column;
}

TableSpec Container::spec() const {
  return {.database = row_.database,
          .table = row_.table,
          .index = row_.index,
          .columns = column_names_,
          .key_columns = key_columns_,
          .unicode = true};
}

}  // namespace postern::items
