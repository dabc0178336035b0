#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/no_row_waits.h"

#include <utility>

namespace postern::mariadb {
namespace {

sys_var *variable_of(THD *thd, const LEX_CSTRING &name) {
  return find_sys_var(thd, name.str, name.length, false);
}

}  // namespace

NoRowWaits::NoRowWaits(THD *thd) {
  sys_var *const variable = variable_of(thd, {STRING_WITH_LEN("innodb_lock_wait_timeout")});
  if (variable == nullptr) return;
  // The value itself: that is where the server keeps it.
  seconds_ = reinterpret_cast<unsigned *>(const_cast<uchar *>(variable->value_ptr(thd, OPT_SESSION, &null_clex_str)));
  if (seconds_ != nullptr) before_ = std::exchange(*seconds_, 0U);
}

NoRowWaits::~NoRowWaits() {
  if (seconds_ != nullptr) *seconds_ = before_;
}

bool NoRowWaits::end_transactions() {
  static const bool end = [] {
    sys_var *const variable = variable_of(current_thd, {STRING_WITH_LEN("innodb_rollback_on_timeout")});
    bool is_null = false;
    return variable == nullptr || variable->val_int(&is_null, current_thd, OPT_GLOBAL, &null_clex_str) != 0;
  }();
  return end;
}

}  // namespace postern::mariadb
