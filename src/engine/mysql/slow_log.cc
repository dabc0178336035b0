// slow_log.cc: writes requests that are not statements to the server's slow log.
#include "engine/mysql/server.h"

#include "engine/slow_log.h"

#include <string>
#include <utility>

namespace postern::engine {

void write_slow_log(const SlowRequest &request) {
  THD *const thd = current_thd;
  // A log that is a table would have to be opened among the tables that this thread has open.
  if (thd == nullptr || !opt_slow_log || !query_logger.is_log_file_enabled(QUERY_LOG_SLOW) ||
      query_logger.is_log_table_enabled(QUERY_LOG_SLOW))
    return;
  const std::string user = request.account.substr(0, request.account.rfind('@'));
  Security_context client;
  client.assign_user(user.data(), user.size());
  client.assign_priv_user(user.data(), user.size());
  client.assign_host(request.client.data(), request.client.size());
  Security_context *const own = thd->security_context();
  thd->set_security_context(&client);
  const bool enabled = std::exchange(thd->enable_slow_log, true);
  thd->set_sent_row_count(static_cast<ha_rows>(request.rows_sent));
  thd->inc_examined_row_count(static_cast<ha_rows>(request.rows_examined) - thd->get_examined_row_count());
  query_logger.slow_log_write(thd, request.what.data(), request.what.size(), true, 0,
                              static_cast<ulonglong>(request.took_us));
  thd->set_sent_row_count(0);
  thd->inc_examined_row_count(0 - thd->get_examined_row_count());
  thd->enable_slow_log = enabled;
  thd->set_security_context(own);
}

}  // namespace postern::engine
