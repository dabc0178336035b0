#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/accounts/grants.h"

#include "engine/mariadb/basics/acting.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"

namespace postern::mariadb {

engine::InformationViewer viewer_of(THD *thd) {
  const Security_context &context = *thd->security_ctx;
  return {.sees_all = (context.master_access & PROCESS_ACL) != NO_ACL, .account = account_name(context)};
}

ActingAs::ActingAs(ServerThread &thread, const sql::ServerAccount &account)
    : thd_(thread.thd()),
      own_(thd_->security_ctx),
      exists_(thread.acting().take(static_cast<const MariaAccount &>(account))) {
  const std::string &role = static_cast<const MariaAccount &>(account).role;
  thd_->security_ctx = thread.acting().get();
  if (!exists_ || role.empty()) return;
  compat::take_role(thd_, role);
  thd_->clear_error(true);  // revoked, which leaves the account's own privileges
}

TableLook::TableLook(THD *thd, Bytes database, Bytes name, Privilege privilege, bool silent)
    : thd_(thd), database_(table_name(database)), name_(table_name(name)) {
  const LEX_CSTRING in{database_.c_str(), database_.size()};
  const LEX_CSTRING named{name_.c_str(), name_.size()};
  list_.init_one_table(&in, &named, nullptr, TL_READ);
  // True, too, if only some columns are granted.
  table_ = !check_table_access(thd_, privilege, &list_, false, 1, silent);
  list_.grant.want_privilege = privilege & ~list_.grant.privilege;
}

bool TableLook::column(Bytes name) {
  const std::string ended(name);  // the server wants it to end with a zero
  return table_ && compat::column_is_granted(thd_, list_.grant, database_, name_, ended.c_str(), ended.size());
}

}  // namespace postern::mariadb
