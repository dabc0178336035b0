// slow_log.cc: writes requests that are not statements to the server's slow log.
#include "engine/mariadb/basics/server.h"

#include "engine/slow_log.h"

#include <ctime>
#include <string>
#include <utility>

#include "engine/mariadb/basics/compat.h"

namespace postern::engine {

void write_slow_log(const SlowRequest &request) {
  THD *const thd = current_thd;
  MYSQL_QUERY_LOG *const file = logger.get_slow_log_file_handler();
  // A log that is a table would have to be opened among the tables that this thread has open.
  if (thd == nullptr || file == nullptr || (log_output_options & LOG_FILE) == 0) return;
  const std::string user = request.account.substr(0, request.account.rfind('@'));
  const std::string who = user + "[" + user + "] @ " + request.client + " []";
  // The thread's last statement does not belong to the request.
  const auto verbosity = std::exchange(thd->variables.log_slow_verbosity, 0);
  mariadb::compat::set_rows(thd, request.rows_sent, request.rows_examined);
  logger.lock_shared();
  if (global_system_variables.sql_log_slow)
    file->write(thd, std::time(nullptr), who.data(), who.size(), request.took_us, 0, false, request.what.data(),
                request.what.size());
  logger.unlock();
  mariadb::compat::set_rows(thd, 0, 0);
  thd->variables.log_slow_verbosity = verbosity;
}

}  // namespace postern::engine
