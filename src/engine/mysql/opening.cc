#include "engine/mysql/server.h"

#include "engine/mysql/opening.h"

#include "engine/mysql/failures.h"

namespace postern::mysqld {

std::string table_name(Bytes name) {
  std::string lower(name);
  if (lower_case_table_names != 0) lower.resize(my_casedn_str(system_charset_info, lower.data()));
  return lower;
}

OpenAttempt open_without_waiting(THD *thd, Table_ref &list, const std::function<void()> &give_up_all) {
  Open_table_context context(thd, MYSQL_OPEN_FAIL_ON_MDL_CONFLICT);
  if (!open_table(thd, &list, &context)) return {};
  if (context.can_recover_from_failed_open()) {
    // The server wants tables closed, or the table's definition fetched anew, before it can be opened.
    thd->clear_error();
    give_up_all();
    context.recover_from_failed_open();
    thd->clear_error();
    return {.state = TableState::again};
  }
  // The metadata lock was taken before the open failed; kept, it would stand in the way of CREATE TABLE.
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
  return {TableState::failed, failure == Failure::interrupted ? failure : Failure::lock_failed, take_server_error(thd)};
}

}  // namespace postern::mysqld
