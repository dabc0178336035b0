#include "redis/keyspace/map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.h"
#include "items/container.h"

namespace postern::redis {
namespace {

constexpr Bytes blanks = " \t";
constexpr std::array<Bytes, 4> entry_columns = {"type", "len", "head", "v"};
constexpr uint64_t databases = 16;

Bytes trimmed(Bytes text) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == Bytes::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Visits the non-empty items of a comma-separated list.
template <class Visit>
void each(Bytes list, Visit visit) {
  while (!list.empty()) {
    const size_t end = list.find(',');
    if (const Bytes piece = trimmed(list.substr(0, end)); !piece.empty()) visit(piece);
    list = end == Bytes::npos ? Bytes{} : list.substr(end + 1);
  }
}

}  // namespace

Map::Map(MapRow row) : row_(std::move(row)), place_(row_.database + "." + row_.table) {
  read_kind();
  read_options();
  key_columns_ = add_columns(row_.key_columns);
  first_field_ = key_columns_;
  if (!row_.expire_column.empty() && add_columns(row_.expire_column) == 1) expiry_column_ = first_field_++;
  if (!row_.version_column.empty() && add_columns(row_.version_column) == 1) version_column_ = first_field_++;
  if (generic()) column_names_.insert(column_names_.end(), entry_columns.begin(), entry_columns.end());
  else add_fields();
  find_problem();
}

void Map::read_kind() {
  uint64_t number = 0;
  if (!parse_natural(row_.db, number) || number >= databases) problem_ = "db is not a number from 0 to 15";
  db_ = static_cast<uint32_t>(number);
  if (row_.kind == "value") kind_ = Kind::value;
  else if (row_.kind == "generic") kind_ = Kind::generic;
  seconds_ = row_.expire_unit == "s";
}

void Map::read_options() {
  each(row_.options, [this](Bytes option) {
    if (option == "read_only") read_only_ = true;
    else if (option == "no_flush") no_flush_ = true;
    else if (option == "no_scan") no_scan_ = true;
    else if (option == "no_create") no_create_ = true;
    else if (option == "no_delete") no_delete_ = true;
  });
}

/// Appends the names of `list` to the columns to open and returns their number.
uint32_t Map::add_columns(Bytes list) {
  const size_t before = column_names_.size();
  each(list, [this](Bytes name) { column_names_.push_back(name); });
  return static_cast<uint32_t>(column_names_.size() - before);
}

/// Each is a column, or a column, a blank and the name that it has as a field.
void Map::add_fields() {
  each(row_.value_columns, [this](Bytes piece) {
    const size_t end = piece.find_first_of(blanks);
    const Bytes column = piece.substr(0, end);
    column_names_.push_back(column);
    fields_.push_back(end == Bytes::npos ? column : trimmed(piece.substr(end)));
    by_name_.push_back(static_cast<uint32_t>(by_name_.size()));
  });
  std::sort(by_name_.begin(), by_name_.end(), [this](uint32_t a, uint32_t b) { return fields_[a] < fields_[b]; });
}

void Map::find_problem() {
  if (!problem_.empty()) return;
  const bool star = std::find(fields_.begin(), fields_.end(), "*") != fields_.end();
  if (row_.database.empty()) problem_ = "db_schema is empty";
  else if (row_.table.empty()) problem_ = "db_table is empty";
  else if (key_columns_ == 0) problem_ = "key_columns names no column";
  else if (key_columns_ > limits::key_parts_max) problem_ = "key_columns names more columns than a key may have";
  else if (row_.index.empty()) problem_ = "key_index is empty";
  else if (key_columns_ > 1 && row_.separator.empty()) problem_ = "several key columns need a key_separator";
  else if (star) problem_ = "value_columns has a '*': CALL postern.redis_map_row() writes out what that stands for";
  else if (kind_ == Kind::value && fields_.size() != 1) problem_ = "value_columns has to be one column";
  else if (kind_ == Kind::row && fields_.empty()) problem_ = "value_columns names no column";
  else if (generic() && (key_columns_ != 1 || first_field_ != entry::type))
    problem_ = "a generic keyspace has one key column, an expire_column and a version_column";
}

uint32_t Map::find_field(Bytes field) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), field,
                                   [this](uint32_t one, Bytes wanted) { return fields_[one] < wanted; });
  return at != by_name_.end() && fields_[*at] == field ? *at : no_column;
}

TableSpec Map::spec() const {
  return {.database = row_.database,
          .table = row_.table,
          .index = row_.index,
          .columns = column_names_,
          .key_columns = key_columns_,
          .unicode = true};
}

TableSpec Map::spec(std::span<const uint32_t> fields, std::span<Bytes> names) const {
  TableSpec spec = this->spec();
  std::copy(column_names_.begin(), column_names_.begin() + first_field_, names.begin());
  for (size_t i = 0; i < fields.size(); ++i) names[first_field_ + i] = column_of(fields[i]);
  spec.columns = names.first(first_field_ + fields.size());
  return spec;
}

TableSpec Map::string_spec(std::span<Bytes> names) const {
  TableSpec spec = this->spec();
  names[string_entry::key] = column_names_[entry::key];
  names[string_entry::expires] = column_names_[entry::expires];
  names[string_entry::type] = column_names_[entry::type];
  names[string_entry::value] = column_names_[entry::value];
  spec.columns = names.first(string_entry::columns);
  return spec;
}

int64_t Map::expires_ms(const Value &value) const {
  const uint64_t number = items::number_in(value);
  return from_column(static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX / 1'000)));
}

}  // namespace postern::redis
