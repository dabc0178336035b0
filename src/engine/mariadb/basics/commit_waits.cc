#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/commit_waits.h"

#include <atomic>

#include "engine/mariadb/basics/compat.h"

namespace postern::mariadb {
namespace {

/// The value itself of a variable of InnoDB, which stays where it is. nullptr: there is no InnoDB, or none looked yet.
std::atomic<const ulong *> flush_at_commit{nullptr};

ulong flushed_when(const ulong *flush) {
  return *static_cast<const volatile ulong *>(flush);
}

/// Every storage engine that others wait for in a commit, and the binary log, has two phases.
bool commits_are_shared(ulong with) {
  return total_ha_2pc > 1 + with || mysql_bin_log.is_open() || WSREP_ON_;
}

bool may_wait(ulong with) {
  const ulong *const flush = flush_at_commit.load(std::memory_order_relaxed);
  if (flush == nullptr || commits_are_shared(with)) return true;
  const ulong when = flushed_when(flush);
  return when != 0 && when != 2;
}

handlerton *innodb() {
  return ha_resolve_by_legacy_type(current_thd, DB_TYPE_INNODB);
}

}  // namespace

void look_for_commit_waits() {
  if (flush_at_commit.load(std::memory_order_relaxed) != nullptr) return;
  constexpr LEX_CSTRING name{STRING_WITH_LEN("innodb_flush_log_at_trx_commit")};
  sys_var *const variable = find_sys_var(current_thd, name.str, name.length, false);
  if (variable == nullptr) return;
  mysql_mutex_lock(&LOCK_global_system_variables);
  const uchar *const value = variable->value_ptr(current_thd, OPT_GLOBAL, &null_clex_str);
  mysql_mutex_unlock(&LOCK_global_system_variables);
  flush_at_commit.store(reinterpret_cast<const ulong *>(value), std::memory_order_relaxed);
}

bool commits_may_wait() {
  return may_wait(0);
}

/// The server's own participants are seen in the transaction.
bool commits_of_innodb_may_wait() {
  return may_wait(compat::own_participants);
}

/// With 3 a commit in two steps flushes in both.
bool commits_wait_for_flush_alone() {
  const ulong *const flush = flush_at_commit.load(std::memory_order_relaxed);
  return flush != nullptr && !commits_are_shared(compat::own_participants) && flushed_when(flush) == 1;
}

/// As the binary log has InnoDB commit a group: it flushes the log for all of them.
void commit_unflushed(THD *thd) {
  handlerton *const engine = innodb();
  compat::commit_in_order(*engine, thd);
}

bool flush_commits() {
  handlerton *const engine = innodb();
  return engine->flush_logs != nullptr && !engine->flush_logs(engine);
}

/// As if another transaction waited for a lock of this one.
void wait_for_no_company(THD *thd) {
  thd->has_waiter = true;
}

}  // namespace postern::mariadb
