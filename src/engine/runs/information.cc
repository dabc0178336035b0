// information.cc: shows tables of INFORMATION_SCHEMA with rows from other rooms.
#include "engine/server/server.h"

#include "engine/information.h"
#include "engine/server/differences.h"
#include "engine/server/grants.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace postern::rows {
namespace {

using engine::InformationColumn;
using engine::InformationRow;
using engine::InformationTable;
using engine::InformationValue;

/// A table that the server knows, found by the array that describes its fields.
struct Shown {
  const InformationTable *table = nullptr;
  std::vector<ST_FIELD_INFO> fields;
};

/// Written when plugins are loaded and unloaded, while the table is not read.
std::array<Shown, 16> shown;

const InformationTable *table_of(const ST_SCHEMA_TABLE *schema_table) {
  const auto found = std::ranges::find_if(
      shown, [&](const Shown &one) { return one.table != nullptr && one.fields.data() == schema_table->fields_info; });
  return found != shown.end() ? found->table : nullptr;
}

void store_value(Field &field, const InformationColumn &column, const InformationValue &value) {
  if (const auto *const number = std::get_if<uint64_t>(&value)) {
    field.set_notnull();
    field.store(static_cast<longlong>(*number), true);
  } else if (const auto *const text = std::get_if<std::string>(&value)) {
    field.set_notnull();
    field.store(text->data(), well_formed_prefix(*text, column.length), system_charset_info);
  } else {
    field.set_null();
  }
}

int fill(THD *thd, TableInList *tables, Condition *) {
  const InformationTable *const table = table_of(tables->schema_table);
  if (table == nullptr) return 0;
  std::vector<InformationRow> rows;
  try {
    rows = table->rows(viewer_of(thd));
  } catch (const std::bad_alloc &) {
    my_error(ER_OUT_OF_RESOURCES, MYF(0));
    return 1;
  }
  TABLE &to = *tables->table;
  for (const InformationRow &row : rows) {
    restore_record(&to, s->default_values);
    const size_t count = std::min(row.size(), table->columns.size());
    for (size_t i = 0; i < count; ++i) store_value(*to.field[i], table->columns[i], row[i]);
    if (schema_table_store_record(thd, &to)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace postern::rows

namespace postern::engine {

bool set_information_table(void *given, const InformationTable &table) {
  rows::Shown *const place =
      std::ranges::find_if(rows::shown, [](const rows::Shown &one) { return one.table == nullptr; });
  if (place == rows::shown.end()) return false;
  try {
    std::vector<ST_FIELD_INFO> fields;
    fields.reserve(table.columns.size() + 1);
    for (const InformationColumn &column : table.columns)
      fields.push_back(column.kind == InformationColumn::Kind::number ? rows::number_column(column.name)
                                                                      : rows::text_column(column.name, column.length));
    fields.push_back(rows::end_of_columns());
    place->fields = std::move(fields);
  } catch (const std::bad_alloc &) {
    return false;
  }
  place->table = &table;
  auto &schema_table = *static_cast<ST_SCHEMA_TABLE *>(given);
  schema_table.fields_info = place->fields.data();
  schema_table.fill_table = rows::fill;
  rows::set_reset(schema_table, table.reset);
  return true;
}

void forget_information_table(const InformationTable &table) {
  for (rows::Shown &one : rows::shown)
    if (one.table == &table) one = {};
}

}  // namespace postern::engine
