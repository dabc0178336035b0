#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/interruption.h"

#include <sched.h>

namespace postern::mariadb {
namespace {

/// How often a thread is woken from a wait before it is left to the server's own way.
constexpr int wakes_max = 200;
constexpr int wakes_at_once = 20;
constexpr unsigned long between_wakes_us = 500;

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

/// Wakes the thread that acts as the THD, which is killed, from its wait for a condition. False if it waits for none.
/// With LOCK_thd_kill held.
bool wake_from_condition(THD *thd) {
  st_my_thread_var *const mysys = thd->mysys_var;
  if (mysys == nullptr) return false;
  mysql_mutex_lock(&mysys->mutex);
  mysql_cond_t *const condition = mysys->current_cond;
  mysql_mutex_t *const mutex = mysys->current_mutex;
  const bool waits = condition != nullptr && mutex != nullptr;
  // Without its mutex a thread that has looked at `killed` and does not wait yet would miss the signal.
  if (waits && mysql_mutex_trylock(mutex) == 0) {
    mysql_cond_broadcast(condition);
    mysql_mutex_unlock(mutex);
  }
  mysql_mutex_unlock(&mysys->mutex);
  return waits;
}

/// False: it still waits for a condition.
bool end_unless_waiting(THD *thd, bool in_any_case) {
  mysql_mutex_lock(&thd->LOCK_thd_kill);
  mysql_mutex_lock(&thd->LOCK_thd_data);
  if (thd->killed < KILL_CONNECTION) thd->set_killed_no_mutex(KILL_CONNECTION);
  const bool ends = !wake_from_condition(thd) || in_any_case;
  if (ends) thd->awake_no_mutex(KILL_CONNECTION);
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  mysql_mutex_unlock(&thd->LOCK_thd_kill);
  return ends;
}

}  // namespace

void end_interruption(THD *thd) {
  take_back(thd, spares_connection);
}

void end_timeout(THD *thd) {
  take_back(thd, is_timeout);
}

// awake() tries for two seconds to get the mutex of the other thread's condition, with LOCK_thd_kill held. All that
// execute SLEEP() share one such mutex, and a thread that is woken holds it when it waits for its own LOCK_thd_kill. So
// of many that are ended one after the other each may take the two seconds. Here the thread leaves its wait first.
void kill_session(THD *thd) {
  for (int tried = 0; !end_unless_waiting(thd, tried == wakes_max); ++tried) {
    if (tried < wakes_at_once) sched_yield();
    else my_sleep(between_wakes_us);
  }
}

}  // namespace postern::mariadb
