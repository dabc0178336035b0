#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/tables/shape.h"

namespace postern::mariadb {

std::vector<ColumnShape> column_shapes(const OpenTable &table) {
  std::vector<ColumnShape> shapes;
  shapes.reserve(table.columns.size());
  for (const uint16_t position : table.columns) {
    Field *const field = table.table->field[position];
    // As Protocol_text::store_field_metadata() does it.
    const Send_field sent(field);
    const uint charset = field->charset_for_protocol()->get_id(MY_COLLATION_ID_TYPE_COMPAT_100800);
    shapes.push_back({.name = {field->field_name.str, field->field_name.length},
                      .type = static_cast<uint8_t>(sent.type_handler()->type_code_for_protocol()),
                      .decimals = static_cast<uint8_t>(sent.decimals),
                      .flags = static_cast<uint16_t>(sent.flags),
                      .charset = static_cast<uint16_t>(charset),
                      .length = static_cast<uint32_t>(sent.length)});
  }
  return shapes;
}

}  // namespace postern::mariadb
