#include "engine/mariadb/hosted/reads/row_locks.h"

#include <string_view>

#include "engine/mariadb/basics/no_row_waits.h"

namespace postern::mariadb {

FormLock lock_in(const SELECT_LEX &select) {
  switch (select.select_lock) {
    case st_select_lex::FOR_UPDATE: return FormLock::update;
    case st_select_lex::IN_SHARE_MODE: return FormLock::share;
    default: return FormLock::none;
  }
}

bool sets_waits_alone(List<set_var_base> &variables) {
  List_iterator_fast<set_var_base> all(variables);
  while (set_var_base *const one = all++) {
    // The grammar allows only system variables there.
    const std::string_view name = static_cast<set_var *>(one)->var->name.str;
    if (name != "lock_wait_timeout" && name != "innodb_lock_wait_timeout") return false;
  }
  return true;
}

bool may_lock_rows(const THD *thd) {
  const bool read_only = opt_readonly || thd->tx_read_only || thd->variables.tx_read_only;
  // With statement logging the server's binary log rules decide whether it fails or warns.
  return !read_only && thd->variables.binlog_format != BINLOG_FORMAT_STMT && !NoRowWaits::end_transactions();
}

}  // namespace postern::mariadb
