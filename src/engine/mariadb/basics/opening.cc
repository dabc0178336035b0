#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/opening.h"

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/failures.h"

namespace postern::mariadb {
namespace {

OpenAttempt failed_as_told(THD *thd) {
  const Failure failure = open_failure(thd);
  return {TableState::failed, failure, take_server_error(thd)};
}

}  // namespace

const unsigned open_flags_without_waiting = MYSQL_OPEN_FAIL_ON_MDL_CONFLICT | MYSQL_OPEN_IGNORE_REPAIR;

std::string table_name(Bytes name) {
  if (lower_case_table_names == 0) return std::string(name);
  CHARSET_INFO *const charset = system_charset_info;
  std::string lower(name.size() * charset->casedn_multiply(), '\0');
  lower.resize(charset->casedn(name.data(), name.size(), lower.data(), lower.size()));
  return lower;
}

void name_table(THD *thd, TABLE_LIST &list, const std::string &database, const std::string &name, thr_lock_type lock) {
  const LEX_CSTRING database_name{database.c_str(), database.size()};
  const LEX_CSTRING table_name{name.c_str(), name.size()};
  list.init_one_table(&database_name, &table_name, nullptr, lock);
  list.required_type = TABLE_TYPE_NORMAL;  // opening a view without this crashes the server
  list.open_type = OT_BASE_ONLY;
  // Spider and Mroonga look here for a LIMIT or a COUNT that they could do for the server: this SELECT has neither.
  // Without a SELECT they crash.
  list.select_lex = thd->lex->first_select_lex();
}

OpenAttempt open_without_waiting(THD *thd, TABLE_LIST &list, const std::function<void()> &give_up_all) {
  Open_table_context context(thd, open_flags_without_waiting);
  if (!open_table(thd, &list, &context)) return {};
  if (context.can_recover_from_failed_open()) {
    // The server wants tables closed, or the table's definition fetched anew, before it can be opened.
    thd->clear_error(true);
    give_up_all();
    context.recover_from_failed_open();
    thd->clear_error(true);
    return {TableState::again};
  }
  // The metadata lock was taken before the open failed; kept, it would block CREATE TABLE.
  thd->mdl_context.rollback_to_savepoint(context.start_of_statement_svp());
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {TableState::busy};
  }
  return failed_as_told(thd);
}

void release_locks(THD *thd) {
  if (!thd->in_multi_stmt_transaction_mode()) thd->release_transactional_locks();
}

OpenAttempt failed_lock(THD *thd) {
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {TableState::busy};
  }
  Failure failure = open_failure(thd);
  if (failure != Failure::interrupted && failure != Failure::read_only) failure = Failure::lock_failed;
  return {TableState::failed, failure, take_server_error(thd)};
}

}  // namespace postern::mariadb
