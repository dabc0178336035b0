#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/accounts/privileges.h"

#include "base/clock.h"
#include "base/limits.h"
#include "engine/mariadb/basics/acting.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {

using sql::Rights;
namespace right = sql::right;

namespace {

/// Makes the account's present global privileges and role those of the thread while it lives.
class ActingAs {
 public:
  ActingAs(ServerThread &thread, const MariaAccount &account)
      : thd_(thread.thd()), own_(thd_->security_ctx), exists_(thread.acting().take(account)) {
    thd_->security_ctx = thread.acting().get();
    if (!exists_ || account.role.empty()) return;
    compat::take_role(thd_, account.role);
    thd_->clear_error(true);  // revoked, which leaves the account's own privileges
  }
  ~ActingAs() { thd_->security_ctx = own_; }
  ActingAs(const ActingAs &) = delete;
  ActingAs &operator=(const ActingAs &) = delete;

  /// False if the account was dropped, or another has come before it.
  bool exists() const { return exists_; }

 private:
  THD *const thd_;
  Security_context *const own_;
  const bool exists_;
};

/// Looks at one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is reported and counted as a statement's.
  TableLook(THD *thd, const Spec &spec, privilege_t privilege, bool silent)
      : thd_(thd), database_(table_name(spec.spec().database)), name_(table_name(spec.spec().table)) {
    const LEX_CSTRING database{database_.c_str(), database_.size()};
    const LEX_CSTRING name{name_.c_str(), name_.size()};
    list_.init_one_table(&database, &name, nullptr, TL_READ);
    // True, too, if only some columns are granted.
    table_ = !check_table_access(thd_, privilege, &list_, false, 1, silent);
    list_.grant.want_privilege = privilege & ~list_.grant.privilege;
  }

  bool table() const { return table_; }
  bool column(const char *name, size_t size) {
    return table_ && compat::column_is_granted(thd_, list_.grant, database_, name_, name, size);
  }
  bool columns(std::span<const Bytes> names) {
    for (const Bytes listed : names) {
      const std::string name(listed);  // the server wants it to end with a zero
      if (!column(name.c_str(), name.size())) return false;
    }
    return table_;
  }

 private:
  THD *const thd_;
  const std::string database_;
  const std::string name_;
  TABLE_LIST list_;
  bool table_;
};

bool key_columns(TableLook &look, const OpenTable &table) {
  const KEY &key = table.key_info();
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const LEX_CSTRING &name = table.table->field[key.key_part[i].fieldnr - 1]->field_name;
    if (!look.column(name.str, name.length)) return false;
  }
  return look.table();
}

}  // namespace

bool Privileges::allow(const Op &op, const Spec &spec, Access access) {
  const auto &account = static_cast<const MariaAccount &>(*op.identity->account);
  if (op.verb != Verb::open || access == Access::read)
    return has(sql::rights_needed(op, access) & ~right::see_key, account, spec, nullptr);
  // What an index that is opened for writing will be used for, its ops say: any right will do.
  for (const Rights right : {right::see, right::insert, right::update, right::erase})
    if (has(right, account, spec, nullptr)) return true;
  return false;
}

bool Privileges::allow_key(const Op &op, const Spec &spec, const OpenTable &table, Access access) {
  const auto &account = static_cast<const MariaAccount &>(*op.identity->account);
  return has(sql::rights_needed(op, access) & right::see_key, account, spec, &table);
}

bool Privileges::has(Rights needed, const MariaAccount &account, const Spec &spec, const OpenTable *table) {
  return known_.has(needed, account.serial, spec.serial(), now_ms(),
                    [&](Rights unknown) { return look_at(unknown, account, spec, table); });
}

Rights Privileges::look_at(Rights wanted, const MariaAccount &account, const Spec &spec, const OpenTable *table) {
  THD *const thd = thread_->thd();
  const ActingAs acting(*thread_, account);
  if (!acting.exists()) return 0;
  const TableSpec &names = spec.spec();
  Rights rights = 0;
  const auto look = [&](Rights right, privilege_t privilege, std::span<const Bytes> columns) {
    if ((wanted & right) && TableLook(thd, spec, privilege, true).columns(columns)) rights |= right;
  };
  look(right::see, SELECT_ACL, names.columns);
  look(right::filter, SELECT_ACL, names.filter_columns);
  look(right::insert, INSERT_ACL, names.columns);
  look(right::update, UPDATE_ACL, names.columns);
  look(right::erase, DELETE_ACL, {});
  if (wanted & right::see_key) {
    TableLook select(thd, spec, SELECT_ACL, true);
    if (key_columns(select, *table)) rights |= right::see_key;
  }
  thd->clear_error(true);
  return rights;
}

ServerError Privileges::why(const Op &op, const Spec &spec, Access access, const OpenTable *table) {
  const auto &account = static_cast<const MariaAccount &>(*op.identity->account);
  THD *const thd = thread_->thd();
  const ActingAs acting(*thread_, account);
  if (!acting.exists()) return {"The account '" + account.name + "'@'" + account.host_pattern + "' is no more"};
  thd->clear_error(true);
  const TableSpec &names = spec.spec();
  Rights needed = sql::rights_needed(op, access);
  if (op.verb == Verb::open && access == Access::write) needed = right::see;
  // The first missing one sets the server's error.
  const auto ask = [&](Rights right, privilege_t privilege, std::span<const Bytes> columns, bool key) {
    if (!(needed & right) || thd->is_error()) return;
    TableLook look(thd, spec, privilege, false);
    if (!look.columns(columns) || !key || table == nullptr) return;
    key_columns(look, *table);
  };
  ask(right::insert, INSERT_ACL, names.columns, false);
  ask(right::update, UPDATE_ACL, names.columns, false);
  ask(right::erase, DELETE_ACL, {}, false);
  ask(right::see, SELECT_ACL, names.columns, false);
  ask(right::filter, SELECT_ACL, names.filter_columns, false);
  ask(right::see_key, SELECT_ACL, {}, true);
  return take_server_error(thd);
}

int64_t Privileges::now_ms() {
  if (now_ms_ == 0) now_ms_ = clock_ms();
  return now_ms_;
}

}  // namespace postern::mariadb
