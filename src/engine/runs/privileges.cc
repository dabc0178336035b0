#include "engine/server/server.h"

#include "engine/runs/privileges.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/server/differences.h"

namespace postern::rows {

using sql::Rights;
namespace right = sql::right;

namespace {

bool columns(TableLook &look, std::span<const Bytes> names) {
  return look.table() && std::ranges::all_of(names, [&](Bytes name) { return look.column(name); });
}

bool key_columns(TableLook &look, const OpenTable &table) {
  const KEY &key = table.key_info();
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if (!look.column(name_of(*table.table->field[key.key_part[i].fieldnr - 1]))) return false;
  }
  return look.table();
}

}  // namespace

bool Privileges::allow(const Op &op, const Spec &spec, Access access) {
  const auto &account = static_cast<const sql::ServerAccount &>(*op.identity->account);
  if (op.verb != Verb::open || access == Access::read)
    return has(sql::rights_needed(op, access) & ~right::see_key, account, spec, nullptr);
  // The ops of an index that is opened for writing decide about its use: any right is enough.
  for (const Rights right : {right::see, right::insert, right::update, right::erase})
    if (has(right, account, spec, nullptr)) return true;
  return false;
}

bool Privileges::allow_key(const Op &op, const Spec &spec, const OpenTable &table, Access access) {
  const auto &account = static_cast<const sql::ServerAccount &>(*op.identity->account);
  return has(sql::rights_needed(op, access) & right::see_key, account, spec, &table);
}

bool Privileges::has(Rights needed, const sql::ServerAccount &account, const Spec &spec, const OpenTable *table) {
  busy_ = false;
  return known_.has(needed, account.serial, spec.serial(), now_ms(),
                    [&](Rights unknown) { return look_at(unknown, account, spec, table); });
}

std::optional<Rights> Privileges::look_at(Rights wanted, const sql::ServerAccount &account, const Spec &spec,
                                          const OpenTable *table) {
  THD *const thd = thread_->thd();
  const ActingAs acting(*thread_, account);
  if (!acting.ready()) {
    busy_ = true;
    return std::nullopt;
  }
  if (!acting.exists()) return Rights{0};
  const TableSpec &names = spec.spec();
  Rights rights = 0;
  const auto look = [&](Rights right, Privilege privilege, std::span<const Bytes> wanted_columns) {
    if (!(wanted & right)) return;
    TableLook one(thd, names.database, names.table, privilege, true);
    if (columns(one, wanted_columns)) rights |= right;
  };
  look(right::see, SELECT_ACL, names.columns);
  look(right::filter, SELECT_ACL, names.filter_columns);
  look(right::insert, INSERT_ACL, names.columns);
  look(right::update, UPDATE_ACL, names.columns);
  look(right::erase, DELETE_ACL, {});
  if (wanted & right::see_key) {
    TableLook select(thd, names.database, names.table, SELECT_ACL, true);
    if (key_columns(select, *table)) rights |= right::see_key;
  }
  forget_error(thd);
  return rights;
}

ServerError Privileges::why(const Op &op, const Spec &spec, Access access, const OpenTable *table) {
  const auto &account = static_cast<const sql::ServerAccount &>(*op.identity->account);
  THD *const thd = thread_->thd();
  const ActingAs acting(*thread_, account);
  if (!acting.exists()) return {"The account '" + account.name + "'@'" + account.host_pattern + "' is no more"};
  forget_error(thd);
  const TableSpec &names = spec.spec();
  Rights needed = sql::rights_needed(op, access);
  if (op.verb == Verb::open && access == Access::write) needed = right::see;
  // The first missing one sets the server's error.
  const auto ask = [&](Rights right, Privilege privilege, std::span<const Bytes> wanted_columns, bool key) {
    if (!(needed & right) || thd->is_error()) return;
    TableLook look(thd, names.database, names.table, privilege, false);
    if (!columns(look, wanted_columns) || !key || table == nullptr) return;
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

}  // namespace postern::rows
