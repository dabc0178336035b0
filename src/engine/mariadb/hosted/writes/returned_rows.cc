#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/returned_rows.h"

namespace postern::mariadb {

bool ReturnedRows::add(THD *session, const TABLE &table, const std::vector<uint16_t> &columns) {
  Protocol &protocol = binary_ ? static_cast<Protocol &>(session->protocol_binary) : session->protocol_text;
  if (sizes_.empty()) protocol.prepare_for_send(static_cast<uint>(columns.size()));
  protocol.prepare_for_resend();
  for (const uint16_t at : columns)
    if (protocol.store(table.field[at])) return false;
  const String &row = *protocol.storage_packet();
  bytes_.append(row.ptr(), row.length());
  sizes_.push_back(row.length());
  return true;
}

void ReturnedRows::put(sql::Packets &packets) const {
  Bytes rest(bytes_);
  for (const uint32_t size : sizes_) {
    packets.put(rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

size_t bytes_of_row(const TABLE &table, const std::vector<uint16_t> &columns) {
  size_t bytes = 0;
  for (const uint16_t at : columns)
    if (Field &field = *table.field[at]; !field.is_null()) bytes += field.value_length();
  return bytes;
}

}  // namespace postern::mariadb
