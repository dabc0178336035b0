#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/prospect.h"

#include <algorithm>
#include <cstdint>

#include "engine/mariadb/hosted/thd/command.h"
#include "engine/sql/texts/first_words.h"

namespace postern::mariadb {
namespace {

bool may_commit(const LEX &lex, bool in_transaction) {
  switch (lex.sql_command) {
    case SQLCOM_SELECT:
    case SQLCOM_DO: return false;
    case SQLCOM_SET_OPTION: return in_transaction;
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI: return !in_transaction;
    default: return true;
  }
}

/// It is one packet, and none of it is still to come.
bool is_whole(Bytes packet) {
  if (packet.size() < header_bytes) return false;
  const uint32_t length = uint3korr(reinterpret_cast<const uchar *>(packet.data()));
  return length < MAX_PACKET_LENGTH && packet.size() == header_bytes + length;
}

}  // namespace

Prospect prospect_of(THD *thd, const Statement &statement) {
  const bool in_transaction = thd->in_multi_stmt_transaction_mode();
  const Bytes packet = statement.packet;
  const uint8_t command = command_of(packet);
  if (const TextFacts &text = statement.text; text.kind != 0)
    return {.kind = text.kind, .may_commit = text.changes && !in_transaction};
  const Bytes arguments = packet.substr(std::min(packet.size(), header_bytes + 1));
  switch (command) {
    case COM_QUERY: {
      const sql::FirstWord first(arguments);
      return {.kind = sql::kind_of_text(arguments),
              .may_commit = first.may_commit(in_transaction),
              .wants_tables = first.wants_tables(),
              .client_sends = first.asks_client() || !is_whole(packet)};
    }
    case COM_STMT_EXECUTE: {
      if (arguments.size() < 4) return {.kind = command};
      const uint32_t id = uint4korr(reinterpret_cast<const uchar *>(arguments.data()));
      const uint64_t kind = sql::kind_of_text({reinterpret_cast<const char *>(&id), sizeof id}) ^ thd->thread_id;
      if (statement.plan != nullptr) return {.kind = kind, .may_commit = statement.plan->writes() && !in_transaction};
      const ::Statement *const prepared = thd->stmt_map.find(id);
      return {.kind = kind,
              .may_commit = prepared == nullptr || prepared->lex == nullptr ||
                            mariadb::may_commit(*prepared->lex, in_transaction)};
    }
    case COM_BINLOG_DUMP: return {.kind = command, .endless = true, .client_sends = true};
    // Its verification may wait: then the loop moves.
    case COM_CHANGE_USER: return {.kind = command, .client_sends = true};
    case COM_QUIT:
    case COM_INIT_DB:
    case COM_FIELD_LIST:
    case COM_STATISTICS:
    case COM_PROCESS_INFO:
    case COM_PING:
    case COM_SET_OPTION:
    case COM_RESET_CONNECTION:
    case COM_STMT_PREPARE:
    case COM_STMT_FETCH:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_RESET:
    case COM_STMT_CLOSE: return {.kind = command};
    default: return {.kind = command, .may_commit = true};
  }
}

}  // namespace postern::mariadb
