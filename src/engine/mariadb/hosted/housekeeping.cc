#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/housekeeping.h"

#include <string>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/not_now.h"

namespace postern::mariadb {
namespace {

/// With it the next transaction begins at once, or the session ends.
bool completes_plainly(THD *thd) {
  return thd->variables.completion_type == 0 && wrote_nothing(thd);
}

bool keeps_ascii(CHARSET_INFO *charset) {
  return charset == &my_charset_bin || my_charset_is_ascii_based(charset);
}

/// Whether the session evaluates GET_LOCK('name', 5) of a text, with the bytes of the name that are in the text.
bool asks_for_lock(THD *thd) {
  const system_variables &variables = thd->variables;
  return variables.select_limit == HA_POS_ERROR && !is_client_of_cluster(thd) &&
         keeps_ascii(variables.character_set_client) && keeps_ascii(variables.collation_connection);
}

/// Character sets are compiled in, databases are cached once used; variables and functions of the session are in
/// memory. `parsed`: the text was parsed in an earlier state of the session.
bool text_cannot_wait(THD *thd, Bytes text, bool parsed, sql::RecentHousekeeping &recent, CommitInTurn &commit,
                      LockAhead &lock) {
  if (thd->variables.query_cache_type != 0 && query_cache.query_cache_size != 0) return false;
  Bytes name;
  switch (recent.kind_of(text, name)) {
    case sql::Housekeeping::begin:
    case sql::Housekeeping::set_autocommit: return wrote_nothing(thd);  // they end the previous transaction
    case sql::Housekeeping::commit: return completes_plainly(thd) || commit.may_be_made(lock);
    case sql::Housekeeping::roll_back: return completes_plainly(thd);
    case sql::Housekeeping::savepoint:
    case sql::Housekeeping::set:
    case sql::Housekeeping::evaluate:
    case sql::Housekeeping::use:
    case sql::Housekeeping::warnings: return true;
    case sql::Housekeeping::lock: return !parsed && asks_for_lock(thd) && lock.take_named(name);
    case sql::Housekeeping::none: return false;
  }
  return false;
}

/// A prepared BEGIN, COMMIT or ROLLBACK, or a statement without parameters that could not wait as a text.
bool execution_cannot_wait(THD *thd, Bytes arguments, sql::RecentHousekeeping &recent, CommitInTurn &commit,
                           LockAhead &lock) {
  if (arguments.size() < 4) return false;
  ::Statement *const statement = thd->stmt_map.find(uint4korr(reinterpret_cast<const uchar *>(arguments.data())));
  if (statement == nullptr || statement->lex == nullptr || statement->state == Query_arena::STMT_ERROR) return false;
  const LEX &lex = *statement->lex;
  switch (lex.sql_command) {
    case SQLCOM_BEGIN:
      return (lex.start_transaction_opt & MYSQL_START_TRANS_OPT_WITH_CONS_SNAPSHOT) == 0 && wrote_nothing(thd);
    case SQLCOM_COMMIT:
    case SQLCOM_ROLLBACK:
      if (lex.tx_chain == TVL_YES || lex.tx_release == TVL_YES) return false;
      return completes_plainly(thd) || (lex.sql_command == SQLCOM_COMMIT && commit.may_be_made(lock));
    default: return text_cannot_wait(thd, {statement->query(), statement->query_length()}, true, recent, commit, lock);
  }
}

/// Ends transaction, locks, variables and prepared statements. Without changed rows and temporary tables, and while no
/// global variable is being set, none of that waits.
bool reset_cannot_wait(THD *thd) {
  if (thd->has_thd_temporary_tables() || thd->ull_hash.records != 0 || !wrote_nothing(thd)) return false;
  if (mysql_mutex_trylock(&LOCK_global_system_variables) != 0) return false;
  mysql_mutex_unlock(&LOCK_global_system_variables);
  return true;
}

/// The maximum of prepared statements at the end: freeing one takes microseconds.
constexpr ulong statements_left_max = 100;

}  // namespace

/// As Item_func_get_lock does.
bool LockAhead::take_named(Bytes name) {
  const std::string ended(name);
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::USER_LOCK, ended.c_str(), "", MDL_SHARED_NO_WRITE, MDL_EXPLICIT);
  return take(request);
}

/// As ha_commit_trans() does.
bool LockAhead::take_of_commit() {
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  return take(request);
}

bool LockAhead::take(MDL_request &request) {
  const Attachment attachment(thd_, mysys_);
  Dummy_error_handler silence;
  thd_->push_internal_handler(&silence);
  const bool failed = thd_->mdl_context.try_acquire_lock(&request);
  thd_->pop_internal_handler();
  ticket_ = failed ? nullptr : request.ticket;
  return ticket_ != nullptr;
}

LockAhead::~LockAhead() {
  if (ticket_ == nullptr) return;
  const Attachment attachment(thd_, mysys_);
  thd_->mdl_context.release_lock(ticket_);
}

bool ends_without_waiting(THD *thd) {
  if (housekeeping_allows(thd)) return false;
  const STATUS_VAR &counts = thd->status_var;
  return !thd->has_thd_temporary_tables() && thd->ull_hash.records == 0 && wrote_nothing(thd) &&
         counts.com_stmt_prepare <= counts.com_stmt_close + statements_left_max;
}

bool is_housekeeping(THD *thd, const postern::Statement &command, sql::RecentHousekeeping &recent, CommitInTurn &commit,
                     LockAhead &lock) {
  if (command.text.of_rows) return false;
  const Bytes packet = command.packet;
  if (packet.size() <= header_bytes || packet[3] != 0 || thd->net.compress) return false;
  // First: a Galera node may be rolling the session back, and then no other state may be read.
  if (housekeeping_allows(thd)) return false;
  const Bytes arguments = packet.substr(header_bytes + 1);
  switch (static_cast<unsigned char>(packet[header_bytes])) {
    // None of these reads a table; statements hold only memory.
    case COM_PING:
    case COM_INIT_DB:
    case COM_SET_OPTION:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET: return true;
    case COM_QUERY: return text_cannot_wait(thd, arguments, false, recent, commit, lock);
    case COM_STMT_EXECUTE: return execution_cannot_wait(thd, arguments, recent, commit, lock);
    case COM_QUIT: return ends_without_waiting(thd);
    case COM_RESET_CONNECTION: return reset_cannot_wait(thd);
    default: return false;
  }
}

}  // namespace postern::mariadb
