#include "engine/mysql/server.h"

#include "engine/mysql/failures.h"

#include <cstring>

namespace postern::mysqld {

ServerError take_server_error(THD *thd) {
  ServerError error;
  if (thd->is_error()) {
    const Diagnostics_area &said = *thd->get_stmt_da();
    error.message = said.message_text();
    error.number.number = static_cast<uint16_t>(said.mysql_errno());
    std::memcpy(error.number.state, said.returned_sqlstate(), sizeof error.number.state - 1);
  }
  thd->clear_error();
  return error;
}

bool open_found_busy(THD *thd) {
  if (!thd->is_error()) return false;
  switch (thd->get_stmt_da()->mysql_errno()) {
    case ER_WARN_I_S_SKIPPED_TABLE:  // MYSQL_OPEN_FAIL_ON_MDL_CONFLICT met a conflict
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_LOCK_DEADLOCK: return true;
    default: return false;
  }
}

Failure open_failure(THD *thd) {
  if (thd->killed) return Failure::interrupted;
  if (!thd->is_error()) return Failure::cannot_open;
  switch (thd->get_stmt_da()->mysql_errno()) {
    case ER_NO_SUCH_TABLE:
    case ER_BAD_DB_ERROR:
    case ER_UNKNOWN_TABLE: return Failure::no_table;
    case ER_WRONG_OBJECT: return Failure::not_a_base_table;
    case ER_QUERY_INTERRUPTED:
    case ER_SERVER_SHUTDOWN: return Failure::interrupted;
    case ER_OPTION_PREVENTS_STATEMENT:
    case ER_SCHEMA_READ_ONLY: return Failure::read_only;
    default: return Failure::cannot_open;
  }
}

bool cannot_be_undone(THD *thd) {
  return thd->get_transaction()->cannot_safely_rollback(Transaction_ctx::SESSION) ||
         thd->get_transaction()->cannot_safely_rollback(Transaction_ctx::STMT);
}

Failure engine_failure(THD *thd, TABLE *table, int code, ServerError &error) {
  if (!thd->is_error()) table->file->print_error(code, MYF(0));
  error = take_server_error(thd);
  if (thd->killed) return Failure::interrupted;  // InnoDB has no code for it
  switch (code) {
    case HA_ERR_OUT_OF_MEM: return Failure::out_of_memory;
    default: return Failure::engine_error;
  }
}

}  // namespace postern::mysqld
