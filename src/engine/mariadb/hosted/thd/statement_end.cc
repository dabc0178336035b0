#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/statement_end.h"

#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

namespace postern::mariadb {

void tell_lost(THD *thd, TABLE *table, int code, bool twice) {
  if (thd->is_error()) return;
  for (int times = twice ? 2 : 1; times != 0; --times) {
    if (table != nullptr && code > 0) table->file->print_error(code, MYF(0));
    else my_error(ER_LOCK_DEADLOCK, MYF(0));
  }
}

void send_end(THD *thd, Output &output, uint8_t number) {
  const Conversation conversation(thd->net.vio, {}, output);
  thd->net.pkt_nr = thd->net.compress_pkt_nr = number;
  thd->protocol->end_statement();
}

void send_lost(THD *thd, SessionStatement &statement, size_t bytes_received, Output &output) {
  statement.lose();
  thd->update_server_status();
  send_end(thd, output);
  statement.done_changing(bytes_received);
}

}  // namespace postern::mariadb
