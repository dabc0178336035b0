#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/globals.h"

#include <cstring>

namespace postern::mariadb {
namespace {

/// How old the cached variables of storage engines may be.
constexpr uint64_t engine_variables_hold_ms = 100;

/// Holds the locks for reading global values. The hash comes first: a thread that declares a variable moves the values
/// of storage engines with it in hand.
class GlobalsLock {
 public:
  GlobalsLock() {
    mysql_prlock_rdlock(&LOCK_system_variables_hash);
    mysql_mutex_lock(&LOCK_global_system_variables);
  }
  ~GlobalsLock() {
    mysql_mutex_unlock(&LOCK_global_system_variables);
    mysql_prlock_unlock(&LOCK_system_variables_hash);
  }
  GlobalsLock(const GlobalsLock &) = delete;
  GlobalsLock &operator=(const GlobalsLock &) = delete;
};

/// Turns a switch of a storage engine off, for this thread. A switch that the engine does not have stays so.
void turn_off(THD *thd, const LEX_CSTRING &name) {
  sys_var *const variable = find_sys_var(thd, name.str, name.length);
  if (variable == nullptr) return;
  // The value itself: that is where the server keeps it.
  const uchar *const value = variable->value_ptr(thd, OPT_SESSION, &null_clex_str);
  if (value != nullptr) *const_cast<uchar *>(value) = 0;
}

/// Sets variables that must not follow the globals. All others do.
void pin(THD *thd) {
  system_variables &ours = thd->variables;
  // A batch is a transaction that ends with it.
  ours.option_bits |= OPTION_AUTOCOMMIT;
  ours.option_bits &= ~OPTION_NOT_AUTOCOMMIT;
  // Key conversions are checked by the notes that they leave.
  ours.option_bits |= OPTION_SQL_NOTES;
  // Unique keys hold.
  ours.option_bits &= ~OPTION_RELAXED_UNIQUE_CHECKS;
  // Only current rows are written and read.
  ours.option_bits &= ~OPTION_INSERT_HISTORY;
  ours.vers_asof_timestamp.type = SYSTEM_TIME_UNSPECIFIED;
  // Values that strict SQL refuses are refused.
  ours.sql_mode |= MODE_STRICT_TRANS_TABLES | MODE_STRICT_ALL_TABLES;
  // One consistent view for each batch; writes set their own in begin_writing().
  ours.tx_isolation = ISO_REPEATABLE_READ;
  // A thread never waits for a table: the request waits in the slow lane, as long as the door's settings allow.
  ours.lock_wait_timeout = 0;
  // These bound one user's statement or session; a batch serves many.
  ours.max_statement_time = 0;
  ours.max_statement_time_double = 0;
  ours.max_mem_used = LONGLONG_MAX;
  // Scans find their place again by the primary key after a secondary one; the switch decides how long a key is.
  ours.optimizer_switch |= OPTIMIZER_SWITCH_EXTENDED_KEYS;
  // The binary log gets rows, whatever format sessions have.
  ours.binlog_format = BINLOG_FORMAT_ROW;
  // A lock reads the newest rows, and a find the view of its run; with this switch InnoDB would abort the transaction
  // where they differ.
  turn_off(thd, {STRING_WITH_LEN("innodb_snapshot_isolation")});
}

/// Sets values that the server derives when it makes a session.
void derive(THD *thd) {
  system_variables &ours = thd->variables;
  ours.pseudo_thread_id = thd->thread_id;
  thd->update_charset();
  thd->set_binlog_bit();
  thd->update_lock_default = ours.low_priority_updates ? TL_WRITE_LOW_PRIORITY : TL_WRITE;
  thd->tx_isolation = static_cast<enum_tx_isolation>(ours.tx_isolation);
  thd->tx_read_only = ours.tx_read_only;
  thd->server_status &= ~(SERVER_STATUS_NO_BACKSLASH_ESCAPES | SERVER_STATUS_ANSI_QUOTES);
  thd->server_status |= SERVER_STATUS_AUTOCOMMIT;
  if (ours.sql_mode & MODE_NO_BACKSLASH_ESCAPES) thd->server_status |= SERVER_STATUS_NO_BACKSLASH_ESCAPES;
  if (ours.sql_mode & MODE_ANSI_QUOTES) thd->server_status |= SERVER_STATUS_ANSI_QUOTES;
}

}  // namespace

bool Globals::changed(THD *thd) {
  // Read while others may set them: a half-set value differs from the earlier one, and is then read under the lock.
  if (std::memcmp(seen_.data(), &global_system_variables, sizeof global_system_variables) != 0) return true;
  // Storage engines' variables may move in memory, so they cannot be read without a lock.
  const auto now_ms =
      static_cast<int64_t>(thd->start_time) * 1000 + static_cast<int64_t>(thd->start_time_sec_part) / 1000;
  const auto since_ms = static_cast<uint64_t>(now_ms - engine_variables_looked_ms_);  // huge if the clock was set back
  if (since_ms < engine_variables_hold_ms) return false;
  engine_variables_looked_ms_ = now_ms;
  return engine_variables_changed();
}

bool Globals::engine_variables_changed() {
  const GlobalsLock lock;
  return seen_engine_variables_.size() != global_system_variables.dynamic_variables_size ||
         std::memcmp(seen_engine_variables_.data(), global_system_variables.dynamic_variables_ptr,
                     seen_engine_variables_.size()) != 0;
}

void Globals::follow(THD *thd) {
  {
    const GlobalsLock lock;
    const system_variables &global = global_system_variables;
    const char *const bytes = reinterpret_cast<const char *>(&global);
    seen_.assign(bytes, bytes + sizeof global);
    seen_engine_variables_.assign(global.dynamic_variables_ptr,
                                  global.dynamic_variables_ptr + global.dynamic_variables_size);
    compat::take_globals(thd);
  }
  pin(thd);
  derive(thd);
}

}  // namespace postern::mariadb
