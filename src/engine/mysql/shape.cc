#include "engine/mysql/server.h"

#include "engine/mysql/shape.h"

namespace postern::mysqld {

std::vector<ColumnShape> column_shapes(const OpenTable &table) {
  std::vector<ColumnShape> shapes;
  shapes.reserve(table.columns.size());
  for (const uint16_t position : table.columns) {
    const Field &field = *table.table->field[position];
    Send_field sent;
    field.make_send_field(&sent);
    // As Protocol_classic::send_field_metadata() does it.
    if (sent.type == MYSQL_TYPE_VARCHAR) sent.type = MYSQL_TYPE_VAR_STRING;
    shapes.push_back({.name = sent.col_name,
                      .type = static_cast<uint8_t>(sent.type),
                      .decimals = static_cast<uint8_t>(sent.decimals),
                      .flags = static_cast<uint16_t>(sent.flags),
                      .charset = static_cast<uint16_t>(field.charset_for_protocol()->number),
                      .length = static_cast<uint32_t>(sent.length)});
  }
  return shapes;
}

}  // namespace postern::mysqld
