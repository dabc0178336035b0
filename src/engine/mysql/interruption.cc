#include "engine/mysql/server.h"

#include "engine/mysql/interruption.h"

namespace postern::mysqld {

void end_timeout(THD *thd) {
  THD::killed_state state = THD::KILL_TIMEOUT;
  thd->killed.compare_exchange_strong(state, THD::NOT_KILLED);
}

void end_interruption(THD *thd) {
  end_timeout(thd);
  THD::killed_state state = THD::KILL_QUERY;
  thd->killed.compare_exchange_strong(state, THD::NOT_KILLED);
}

}  // namespace postern::mysqld
