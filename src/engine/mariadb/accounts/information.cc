// information.cc: shows tables of INFORMATION_SCHEMA with rows that others make.
#include "engine/mariadb/basics/server.h"

#include "engine/information.h"
#include "engine/mariadb/basics/account.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace postern::mariadb {
namespace {

using engine::InformationColumn;
using engine::InformationRow;
using engine::InformationTable;
using engine::InformationValue;
using engine::InformationViewer;

/// A table that the server knows, found by the array that describes its fields.
struct Shown {
  const InformationTable *table = nullptr;
  std::vector<ST_FIELD_INFO> fields;
};

/// Written when plugins are loaded and unloaded, which is when nobody reads that table.
std::array<Shown, 16> shown;

const InformationTable *table_of(const ST_SCHEMA_TABLE *schema_table) {
  const auto found = std::ranges::find_if(
      shown, [&](const Shown &one) { return one.table != nullptr && one.fields.data() == schema_table->fields_info; });
  return found != shown.end() ? found->table : nullptr;
}

InformationViewer viewer_of(THD *thd) {
  const Security_context &context = *thd->security_ctx;
  return {.sees_all = (context.master_access & PROCESS_ACL) != NO_ACL, .account = account_name(context)};
}

void store_value(Field &field, const InformationColumn &column, const InformationValue &value) {
  if (const auto *const number = std::get_if<uint64_t>(&value)) {
    field.set_notnull();
    field.store(static_cast<longlong>(*number), true);
  } else if (const auto *const text = std::get_if<std::string>(&value)) {
    field.set_notnull();
    const CHARSET_INFO *const set = system_charset_info;
    const size_t cut = Well_formed_prefix(set, text->data(), text->size(), column.length).length();
    field.store(text->data(), cut, set);
  } else {
    field.set_null();
  }
}

int fill(THD *thd, TABLE_LIST *tables, COND *) {
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

ST_FIELD_INFO field_info_of(const InformationColumn &column) {
  if (column.kind == InformationColumn::Kind::number)
    return Show::Column(column.name, Show::ULonglong(MY_INT64_NUM_DECIMAL_DIGITS), NULLABLE);
  return Show::Column(column.name, Show::Varchar(column.length), NULLABLE);
}

}  // namespace
}  // namespace postern::mariadb

namespace postern::engine {

bool set_information_table(void *given, const InformationTable &table) {
  mariadb::Shown *const place =
      std::ranges::find_if(mariadb::shown, [](const mariadb::Shown &one) { return one.table == nullptr; });
  if (place == mariadb::shown.end()) return false;
  try {
    std::vector<ST_FIELD_INFO> fields;
    fields.reserve(table.columns.size() + 1);
    for (const InformationColumn &column : table.columns) fields.push_back(mariadb::field_info_of(column));
    fields.push_back(Show::CEnd());
    place->fields = std::move(fields);
  } catch (const std::bad_alloc &) {
    return false;
  }
  place->table = &table;
  auto &schema_table = *static_cast<ST_SCHEMA_TABLE *>(given);
  schema_table.fields_info = place->fields.data();
  schema_table.fill_table = mariadb::fill;
  schema_table.reset_table = table.reset;
  return true;
}

void forget_information_table(const InformationTable &table) {
  for (mariadb::Shown &one : mariadb::shown)
    if (one.table == &table) one = {};
}

}  // namespace postern::engine
