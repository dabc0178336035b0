#include "engine/mysql/server.h"

#include "engine/mysql/grants.h"

#include "engine/mysql/opening.h"

namespace postern::mysqld {

engine::InformationViewer viewer_of(THD *thd) {
  Security_context &context = *thd->security_context();
  return {.sees_all = context.check_access(PROCESS_ACL), .account = account_name(context)};
}

ActingAs::ActingAs(ServerThread &thread, const sql::ServerAccount &account)
    : thd_(thread.thd()), own_(thd_->security_context()), ready_(grants_are_free()) {
  if (!ready_) return;
  exists_ = take(static_cast<const MysqlAccount &>(account));
  thd_->set_security_context(&acting_);
}

ActingAs::~ActingAs() {
  thd_->set_security_context(own_);
}

/// Each of the server's functions for grants takes this lock, and releases all locks of this kind that the thread has,
/// so it cannot be held across them.
bool ActingAs::grants_are_free() {
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::ACL_CACHE, "", "", MDL_SHARED, MDL_EXPLICIT);
  if (thd_->mdl_context.try_acquire_lock(&request) || request.ticket == nullptr) return false;
  thd_->mdl_context.release_lock(request.ticket);
  return true;
}

bool ActingAs::take(const MysqlAccount &account) {
  // By the account's name and not the user's, which may be an anonymous or a proxied one.
  const bool found = !acl_getroot(thd_, &acting_, account.name.c_str(), account.host.c_str(), account.ip.c_str(), "");
  if (!found || account.name != acting_.priv_user().str || account.host_pattern != acting_.priv_host().str)
    return false;
  for (const auto &[name, host] : account.roles)
    acting_.activate_role({name.data(), name.size()}, {host.data(), host.size()}, true);
  if (acting_.get_num_active_roles() != 0) acting_.checkout_access_maps();
  return true;
}

TableLook::TableLook(THD *thd, Bytes database, Bytes name, Privilege privilege, bool silent)
    : thd_(thd), privilege_(privilege), database_(table_name(database)), name_(table_name(name)) {
  name_table(thd, list_, database_, name_, TL_READ);
  // True, too, if only some columns are granted.
  table_ = !check_table_access(thd_, privilege, &list_, false, 1, silent);
}

bool TableLook::column(Bytes name) {
  const std::string ended(name);  // the server needs a terminating zero
  return table_ && !check_grant_column(thd_, &list_.grant, database_.c_str(), name_.c_str(), ended.c_str(),
                                       ended.size(), thd_->security_context(), privilege_);
}

}  // namespace postern::mysqld
