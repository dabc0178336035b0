#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/thd_deletion.h"

#include <pthread.h>

#include <chrono>
#include <thread>

namespace postern::mariadb {
namespace {

/// Whether a thread waits for a condition under this mutex, or has not come back from there: glibc counts it among the
/// mutex's users, and refuses to destroy it.
bool is_waited_under(mysql_mutex_t &mutex) {
#ifdef SAFE_MUTEX
  pthread_mutex_t &it = mutex.m_mutex.mutex;
#else
  pthread_mutex_t &it = mutex.m_mutex;
#endif
  // A thread that is just leaving holds it.
  mysql_mutex_lock(&mutex);
  mysql_mutex_unlock(&mutex);
  if (pthread_mutex_destroy(&it) != 0) return true;
  pthread_mutex_init(&it, nullptr);  // for the THD's destructor
  return false;
}

}  // namespace

void delete_thd(THD *thd) {
  while (is_waited_under(thd->LOCK_thd_kill)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  delete thd;
}

}  // namespace postern::mariadb
