#include "engine/mysql/server.h"

#include "engine/mysql/opening.h"

#include <utility>

#include "engine/mysql/failures.h"

namespace postern::mysqld {

std::string table_name(Bytes name) {
  std::string lower(name);
  if (lower_case_table_names != 0) lower.resize(my_casedn_str(system_charset_info, lower.data()));
  return lower;
}

void start_lex(THD *thd) {
  static thread_local MEM_ROOT memory(PSI_NOT_INSTRUMENTED, 4096);
  memory.ClearForReuse();
  MEM_ROOT *const of_statement = std::exchange(thd->mem_root, &memory);
  lex_start(thd);
  thd->mem_root = of_statement;
  thd->lex->sql_command = SQLCOM_SELECT;
}

const unsigned open_flags_without_waiting = MYSQL_OPEN_FAIL_ON_MDL_CONFLICT;

void name_table(THD *, Table_ref &list, const std::string &database, const std::string &name, thr_lock_type lock) {
  list = Table_ref(database.c_str(), database.size(), name.c_str(), name.size(), name.c_str(), lock);
  list.required_type = dd::enum_table_type::BASE_TABLE;
  list.open_type = OT_BASE_ONLY;
}

void release_locks(THD *thd) {
  if (thd->in_multi_stmt_transaction_mode()) thd->mdl_context.release_statement_locks();
  else thd->mdl_context.release_transactional_locks();
}

OpenAttempt open_without_waiting(THD *thd, Table_ref &list, const std::function<void()> &give_up_all) {
  Open_table_context context(thd, open_flags_without_waiting);
  if (!open_table(thd, &list, &context)) return {};
  if (context.can_recover_from_failed_open()) {
    // The server wants tables closed, or the table's definition fetched anew, before it can be opened.
    thd->clear_error();
    give_up_all();
    context.recover_from_failed_open();
    thd->clear_error();
    return {.state = TableState::again};
  }
  // The metadata lock was taken before the open failed; kept, it would block CREATE TABLE.
  thd->mdl_context.rollback_to_savepoint(context.start_of_statement_svp());
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {.state = TableState::busy};
  }
  const Failure failure = open_failure(thd);
  return {TableState::failed, failure, take_server_error(thd)};
}

OpenAttempt failed_lock(THD *thd) {
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {.state = TableState::busy};
  }
  const Failure failure = open_failure(thd);
  const bool says_why = failure == Failure::interrupted || failure == Failure::read_only;
  return {TableState::failed, says_why ? failure : Failure::lock_failed, take_server_error(thd)};
}

}  // namespace postern::mysqld
