#include "engine/mariadb/hosted/planned/joins/session_items.h"

#include "engine/mariadb/hosted/planned/forms/known_functions.h"

namespace postern::mariadb {
namespace {

/// Forwards its argument's properties and value. The server's functions recognise a new execution by the session's
/// query_id.
class SessionValue final : public Item_func_rollup_const, public ValueItem {
 public:
  using Item_func_rollup_const::Item_func_rollup_const;

  Item *item() override { return this; }
  void show(bool shown) override { shown_ = shown; }
  void take(THD *, const Value &, Field &) override {}

  table_map used_tables() const override { return shown_ ? 0 : OUTER_REF_TABLE_BIT; }
  bool const_item() const override { return shown_; }
  bool is_expensive() override { return false; }
  void update_used_tables() override {}
  /// Its argument is a constant for the server, which would keep the value of the first execution.
  Item *compile(THD *thd, Item_analyzer analyzer, uchar **analysed, Item_transformer transformer,
                uchar *transformed) override {
    return Item::compile(thd, analyzer, analysed, transformer, transformed);
  }
  Item *transform(THD *thd, Item_transformer transformer, uchar *transformed) override {
    return Item::transform(thd, transformer, transformed);
  }

 protected:
  /// It is never copied for another place.
  Item *shallow_copy(THD *) const override { return nullptr; }
  Item *deep_copy(THD *) const override { return nullptr; }

 private:
  bool shown_ = false;
};

/// The server's own has the number of the session that it was resolved in.
class ConnectionId final : public Item_func_connection_id {
 public:
  using Item_func_connection_id::Item_func_connection_id;
  longlong val_int() override { return static_cast<longlong>(current_thd->variables.pseudo_thread_id); }
};

String *put_account(String &to, const char *user, const char *host) {
  to.set_charset(system_charset_info);
  to.length(0);
  const bool failed = to.append(user, strlen(user)) || to.append('@') || to.append(host, strlen(host));
  return failed ? nullptr : &to;
}

/// Likewise, an account's name.
class UserOfSession final : public Item_func_user {
 public:
  using Item_func_user::Item_func_user;
  String *val_str(String *to) override {
    const Security_context &own = current_thd->main_security_ctx;
    return put_account(*to, own.user, own.host_or_ip);
  }
};

class AccountOfSession final : public Item_func_user {
 public:
  using Item_func_user::Item_func_user;
  LEX_CSTRING func_name_cstring() const override { return {STRING_WITH_LEN("current_user")}; }
  String *val_str(String *to) override {
    const Security_context &own = *current_thd->security_ctx;
    return put_account(*to, own.priv_user, own.priv_host);
  }
};

/// The function itself, or a replacement that reads the session each time. nullptr: out of memory.
Item *asking_anew(THD *thd, Item_func &function) {
  Item *made = &function;
  if (is_named(function, "connection_id")) made = new (thd->mem_root) ConnectionId(thd);
  else if (is_named(function, "user")) made = new (thd->mem_root) UserOfSession(thd);
  else if (is_named(function, "current_user")) made = new (thd->mem_root) AccountOfSession(thd);
  if (made != nullptr) made->name = function.name;
  return made;
}

}  // namespace

ValueItem *make_session_item(THD *thd, Item_func &function) {
  Item *const inner = asking_anew(thd, function);
  return inner != nullptr ? new (thd->mem_root) SessionValue(thd, inner) : nullptr;
}

ValueItem *make_session_value(THD *thd, Item &expression) {
  return new (thd->mem_root) SessionValue(thd, &expression);
}

}  // namespace postern::mariadb
