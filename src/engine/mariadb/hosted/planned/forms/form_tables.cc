#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/forms/form_tables.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/planned/forms/form_views.h"
#include "engine/mariadb/hosted/reads/session_read.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {
namespace {

/// Names for the server's functions, with stable addresses.
struct NamedTables {
  explicit NamedTables(THD *thd, const std::vector<FormTable> &tables)
      : names(std::make_unique<std::string[]>(tables.size() * 2)),
        lists(std::make_unique<TABLE_LIST[]>(tables.size())) {
    for (size_t i = 0; i < tables.size(); ++i) {
      names[i * 2] = table_name(tables[i].database);
      names[i * 2 + 1] = table_name(tables[i].table);
      name_table(thd, lists[i], names[i * 2], names[i * 2 + 1], TL_READ);
      if (i != 0) lists[i - 1].next_global = lists[i - 1].next_local = &lists[i];
    }
  }
  std::unique_ptr<std::string[]> names;
  std::unique_ptr<TABLE_LIST[]> lists;
};

bool open_all(THD *thd, std::span<TABLE_LIST> lists, std::vector<const TABLE *> &opened) {
  for (TABLE_LIST &list : lists) {
    Open_table_context context(thd, open_flags_without_waiting);
    if (open_table(thd, &list, &context) || list.table == nullptr) return false;
    opened.push_back(list.table);
  }
  return true;
}

bool look_at_views(THD *thd, const std::vector<FormView> &views, std::vector<uint64_t> &versions) {
  for (const FormView &one : views) {
    MDL_ticket *ticket = nullptr;
    const uint64_t version = version_of_view(thd, one, false, ticket);
    if (version == 0) return false;
    versions.push_back(version);
  }
  return true;
}

bool may_read(THD *thd, const std::vector<FormTable> &tables) {
  if (std::ranges::all_of(tables, [thd](const FormTable &one) { return may_read_database(thd, one.database); }))
    return true;
  NamedTables named(thd, tables);
  if (check_table_access(thd, SELECT_ACL, named.lists.get(), false, UINT_MAX, true)) return false;
  for (size_t i = 0; i < tables.size(); ++i)
    if ((named.lists[i].grant.privilege & SELECT_ACL) == NO_ACL) return false;
  return true;
}

/// While one lives the session has another account's rights.
class ActsAs {
 public:
  ActsAs(THD *thd, Security_context &other) : thd_(thd), own_(std::exchange(thd->security_ctx, &other)) {}
  ~ActsAs() { thd_->security_ctx = own_; }
  ActsAs(const ActsAs &) = delete;
  ActsAs &operator=(const ActsAs &) = delete;

 private:
  THD *const thd_;
  Security_context *const own_;
};

/// As the server does for a view with a definer.
bool account_may_read(THD *thd, const FormAccount &account, const std::vector<FormTable> &tables) {
  // SHOW PROCESSLIST in another session may read it for a moment.
  static thread_local Security_context definer;
  const char *const host = account.host.c_str();
  if (!compat::find_account(definer, account.user, host, host, thd->db.str != nullptr ? thd->db.str : "")) return false;
  const ActsAs acts_as(thd, definer);
  return may_read(thd, tables);
}

}  // namespace

uint64_t version_of_tables(std::span<const TABLE *const> tables, std::span<const uint64_t> views) {
  uint64_t version = 0xcbf29ce484222325;
  const auto add = [&version](uint64_t one) {
    version ^= one;
    version *= 0x100000001b3;
    version ^= version >> 29U;
  };
  for (const TABLE *const table : tables) add(table->s->get_table_ref_version());
  for (const uint64_t one : views) add(one);
  return version;
}

bool look_at_tables(THD *thd, const FormParts &parts,
                    const std::function<void(std::span<const TABLE *const>, uint64_t)> &look) {
  const std::vector<FormTable> &tables = parts.tables;
  const MDL_savepoint locks_before = thd->mdl_context.mdl_savepoint();
  STATUS_VAR before;
  std::memcpy(static_cast<void *>(&before), &thd->status_var, counted_status_bytes);
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  thd->lex->sql_command = SQLCOM_SELECT;
  thd->lex->query_tables_own_last = nullptr;
  const ulong wait = std::exchange(thd->variables.lock_wait_timeout, 0);
  bool looked = false;
  try {
    NamedTables named(thd, tables);
    std::vector<const TABLE *> opened;
    opened.reserve(tables.size());
    std::vector<uint64_t> views;
    views.reserve(parts.views.size());
    looked = open_all(thd, {named.lists.get(), tables.size()}, opened) && look_at_views(thd, parts.views, views);
    if (looked) look(opened, version_of_tables(opened, views));
    close_and_unlock(thd, locks_before);
  } catch (const std::bad_alloc &) {  // the tables have to be closed; nothing was learnt of them
    close_and_unlock(thd, locks_before);
  }
  thd->variables.lock_wait_timeout = wait;
  thd->pop_internal_handler();
  thd->lex->sql_command = SQLCOM_END;
  std::memcpy(static_cast<void *>(&thd->status_var), &before, counted_status_bytes);
  return looked;
}

bool may_read_tables(THD *thd, const FormParts &parts) {
  if (parts.views.empty()) return may_read(thd, parts.tables);
  return std::ranges::all_of(parts.reads, [thd](const FormReads &one) {
    return one.account ? account_may_read(thd, *one.account, one.tables) : may_read(thd, one.tables);
  });
}

}  // namespace postern::mariadb
