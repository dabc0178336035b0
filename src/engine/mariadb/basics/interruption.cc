#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/interruption.h"

namespace postern::mariadb {
namespace {

bool is_timeout(killed_state state) {
  return state == KILL_TIMEOUT;
}

bool spares_connection(killed_state state) {
  return state != NOT_KILLED && state < KILL_CONNECTION;
}

/// As THD::reset_killed(), but for looking under the lock.
void take_back(THD *thd, bool (*is_to_end)(killed_state)) {
  mysql_mutex_lock(&thd->LOCK_thd_kill);
  const bool ends = is_to_end(thd->killed);
  if (ends) {
    thd->killed = NOT_KILLED;
    my_free(thd->killed_err);
    thd->killed_err = nullptr;
  }
  mysql_mutex_unlock(&thd->LOCK_thd_kill);
  // A cluster remembers more of it.
  if (ends && WSREP_ON_) thd->reset_killed();
}

}  // namespace

void end_interruption(THD *thd) {
  take_back(thd, spares_connection);
}

void end_timeout(THD *thd) {
  take_back(thd, is_timeout);
}

}  // namespace postern::mariadb
