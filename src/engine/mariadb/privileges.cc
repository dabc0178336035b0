#include "engine/mariadb/server.h"

#include <sql_acl.h>

#include "engine/mariadb/privileges.h"

#include "base/clock.h"
#include "base/limits.h"
#include "engine/mariadb/failures.h"

namespace postern::mariadb {
namespace {

/// Makes the account's present global privileges and role those of the thread while it lives.
class ActingAs {
 public:
  ActingAs(THD *thd, const MariaAccount &account) : thd_(thd), own_(thd->security_ctx) {
    const char *const ip = account.ip.empty() ? nullptr : account.ip.c_str();
    // By the account's name and not the user's, who may have come as an anonymous or a proxied one.
    exists_ = !acl_getroot(&context_, account.name.c_str(), account.host.c_str(), ip, "") &&
              account.name == context_.priv_user && account.host_pattern == context_.priv_host;
    thd_->security_ctx = &context_;
    if (!exists_ || account.role.empty()) return;
    privilege_t access(NO_ACL);
    if (acl_check_setrole(thd_, account.role.c_str(), &access) == 0) acl_setrole(thd_, account.role.c_str(), access);
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
  Security_context context_;
  bool exists_;
};

/// Looks at one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is told and counted as one of a statement is.
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
    return table_ &&
           !check_grant_column(thd_, &list_.grant, database_.c_str(), name_.c_str(), name, size, thd_->security_ctx);
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
  if (op.verb != Verb::open || access == Access::read) return has(needs(op, access) & ~see_key, account, spec, nullptr);
  // Whoever opens an index for writing says later what for.
  for (const Rights right : {see, insert, update, erase})
    if (has(right, account, spec, nullptr)) return true;
  return false;
}

bool Privileges::allow_key(const Op &op, const Spec &spec, const OpenTable &table, Access access) {
  const auto &account = static_cast<const MariaAccount &>(*op.identity->account);
  return has(needs(op, access) & see_key, account, spec, &table);
}

bool Privileges::has(Rights needed, const MariaAccount &account, const Spec &spec, const OpenTable *table) {
  Look &look = look_for(account, spec);
  if (look.begun_ms == 0 || now_ms() - look.begun_ms >= limits::privileges_hold_ms) {
    look.begun_ms = now_ms();
    look.known = look.rights = 0;
  }
  // Only what is asked for: what the server refuses it may tell those who watch it, too.
  if (const Rights unknown = needed & ~look.known) {
    look.rights |= look_at(unknown, account, spec, table);
    look.known |= unknown;
  }
  return (look.rights & needed) == needed;
}

Privileges::Rights Privileges::needs(const Op &op, Access access) {
  switch (op.verb) {
    case Verb::answer:
    case Verb::login: return 0;
    case Verb::open: return access == Access::read ? see | filter | see_key : 0;
    case Verb::find: return see | filter | see_key;
    case Verb::insert:
      switch (op.insert->on_duplicate) {
        case OnDuplicate::fail:
        case OnDuplicate::ignore: return insert;
        case OnDuplicate::update: return insert | update;
        case OnDuplicate::decide: return insert | update | (op.insert->reads_old_values ? see : 0);
      }
      return 0;
    case Verb::edit: {
      const Rights change = op.edit->erases ? erase : update;
      return change | filter | see_key | (op.edit->rows_wanted || op.edit->reads_old_values ? see : 0);
    }
  }
  return 0;
}

Privileges::Look &Privileges::look_for(const MariaAccount &account, const Spec &spec) {
  if (looks_.size() >= limits::privileges_remembered_max) looks_.clear();
  Look &look = looks_[account.serial * 0x9e3779b97f4a7c15 + spec.serial()];
  if (look.account != account.serial || look.spec != spec.serial())
    look = {.account = account.serial, .spec = spec.serial()};
  return look;
}

Privileges::Rights Privileges::look_at(Rights wanted, const MariaAccount &account, const Spec &spec,
                                       const OpenTable *table) {
  const ActingAs acting(thd_, account);
  if (!acting.exists()) return 0;
  const TableSpec &names = spec.spec();
  Rights rights = 0;
  const auto look = [&](Rights right, privilege_t privilege, std::span<const Bytes> columns) {
    if ((wanted & right) && TableLook(thd_, spec, privilege, true).columns(columns)) rights |= right;
  };
  look(see, SELECT_ACL, names.columns);
  look(filter, SELECT_ACL, names.filter_columns);
  look(insert, INSERT_ACL, names.columns);
  look(update, UPDATE_ACL, names.columns);
  look(erase, DELETE_ACL, {});
  if (wanted & see_key) {
    TableLook select(thd_, spec, SELECT_ACL, true);
    if (key_columns(select, *table)) rights |= see_key;
  }
  thd_->clear_error(true);
  return rights;
}

ServerError Privileges::why(const Op &op, const Spec &spec, Access access, const OpenTable *table) {
  const auto &account = static_cast<const MariaAccount &>(*op.identity->account);
  const ActingAs acting(thd_, account);
  if (!acting.exists()) return {"The account '" + account.name + "'@'" + account.host_pattern + "' is no more"};
  thd_->clear_error(true);
  const TableSpec &names = spec.spec();
  Rights needed = needs(op, access);
  if (op.verb == Verb::open && access == Access::write) needed = see;
  // The first that is missing leaves the server's words behind.
  const auto ask = [&](Rights right, privilege_t privilege, std::span<const Bytes> columns, bool key) {
    if (!(needed & right) || thd_->is_error()) return;
    TableLook look(thd_, spec, privilege, false);
    if (!look.columns(columns) || !key || table == nullptr) return;
    key_columns(look, *table);
  };
  ask(insert, INSERT_ACL, names.columns, false);
  ask(update, UPDATE_ACL, names.columns, false);
  ask(erase, DELETE_ACL, {}, false);
  ask(see, SELECT_ACL, names.columns, false);
  ask(filter, SELECT_ACL, names.filter_columns, false);
  ask(see_key, SELECT_ACL, {}, true);
  return take_server_error(thd_);
}

int64_t Privileges::now_ms() {
  if (now_ms_ == 0) now_ms_ = clock_ms();
  return now_ms_;
}

}  // namespace postern::mariadb
