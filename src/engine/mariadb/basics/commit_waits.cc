#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/commit_waits.h"

#include <atomic>

namespace postern::mariadb {
namespace {

/// The value itself of a variable of InnoDB, which stays where it is. nullptr: there is no InnoDB, or none looked yet.
std::atomic<const ulong *> flush_at_commit{nullptr};

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
  const ulong *const flush = flush_at_commit.load(std::memory_order_relaxed);
  // Every storage engine that others wait for in a commit, and the binary log, has two phases.
  if (flush == nullptr || total_ha_2pc > 1 || mysql_bin_log.is_open() || WSREP_ON_) return true;
  const ulong when = *static_cast<const volatile ulong *>(flush);
  return when != 0 && when != 2;
}

/// As if another transaction waited for a lock of this one.
void wait_for_no_company(THD *thd) {
  thd->has_waiter = true;
}

}  // namespace postern::mariadb
