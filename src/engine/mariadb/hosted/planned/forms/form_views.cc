#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/forms/form_views.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/sql/texts/table_places.h"

namespace postern::mariadb {
namespace {

constexpr size_t views_max = 8;
/// The version of a table that has taken the name of a view.
constexpr uint64_t no_view = 1;

/// A view's definition, as far as it counts here.
struct Definition {
  std::string text;
  std::optional<FormAccount> definer;
  std::string collation;  // of its literals
  bool of_a_role = false;
};

bool same_table(Bytes left, Bytes right) {
  return compat::same_name(table_alias_charset, std::string(left).c_str(), std::string(right).c_str());
}

bool same(const FormTable &left, const FormTable &right) {
  return left.database == right.database && left.table == right.table && left.alias == right.alias;
}

/// False: out of memory.
bool note_definition(const TABLE_LIST &list, Definition &definition) {
  try {
    definition.text.assign(list.select_stmt.str, list.select_stmt.length);
    if (list.view_suid)
      definition.definer = FormAccount{{list.definer.user.str, list.definer.user.length},
                                       {list.definer.host.str, list.definer.host.length}};
    definition.of_a_role = list.view_suid && list.definer.host.length == 0;
    definition.collation.assign(list.view_connection_cl_name.str, list.view_connection_cl_name.length);
  } catch (const std::bad_alloc &) {
    return false;
  }
  return true;
}

bool read_definition(THD *thd, TABLE_LIST &list, TABLE_SHARE *share, Definition &definition) {
  MEM_ROOT root;
  init_alloc_root(PSI_NOT_INSTRUMENTED, &root, 8192, 0, MYF(MY_THREAD_SPECIFIC));
  Query_arena arena(&root, Query_arena::STMT_INITIALIZED);
  Query_arena backup;
  thd->set_n_backup_active_arena(&arena, &backup);
  const bool read =
      !mysql_make_view(thd, share, &list, true) && list.select_stmt.str != nullptr && note_definition(list, definition);
  thd->restore_active_arena(&arena, &backup);
  arena.free_items();
  free_root(&root, MYF(0));
  return read;
}

bool lock_view(THD *thd, TABLE_LIST &list, enum_mdl_duration duration) {
  MDL_REQUEST_INIT(&list.mdl_request, MDL_key::TABLE, list.db.str, list.table_name.str, MDL_SHARED_READ, duration);
  return !thd->mdl_context.try_acquire_lock(&list.mdl_request) && list.mdl_request.ticket != nullptr;
}

bool look_at_view(THD *thd, const FormTable &view, Definition &definition) {
  const MDL_savepoint locks_before = thd->mdl_context.mdl_savepoint();
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  const TableNames names(view.database, view.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  list.required_type = TABLE_TYPE_VIEW;
  bool read = false;
  if (lock_view(thd, list, MDL_TRANSACTION)) {
    if (TABLE_SHARE *const share = tdc_acquire_share(thd, &list, GTS_VIEW); share != nullptr) {
      read = read_definition(thd, list, share, definition);
      tdc_release_share(share);
    }
  }
  close_and_unlock(thd, locks_before);
  thd->pop_internal_handler();
  return read;
}

/// Only plain characters, so that it is the same text in all character sets; and with literals of texts only where they
/// have the same collation in the session.
bool means_the_same(const THD *thd, const Definition &definition) {
  const bool plain = std::ranges::none_of(definition.text, [](char one) { return static_cast<signed char>(one) <= 0; });
  if (!plain || definition.text.find('?') != std::string::npos) return false;
  if (definition.text.find('\'') == std::string::npos) return true;
  return definition.collation == thd->variables.collation_connection->coll_name.str;
}

/// Replaces the table at `at` by `body`. False: its place was not found.
bool put_body(const FormParts &parts, size_t at, const std::string &body, std::string &text) {
  const FormTable &view = parts.tables[at];
  const auto is_named_so = [&view](const FormTable &one) { return same_table(one.table, view.table); };
  const auto places = sql::places_of_table(parts.text, view.table, same_table);
  const auto all = static_cast<size_t>(std::ranges::count_if(parts.tables, is_named_so));
  if (places.size() != all) return false;
  const auto before = static_cast<size_t>(
      std::count_if(parts.tables.begin(), parts.tables.begin() + static_cast<ptrdiff_t>(at), is_named_so));
  const sql::TablePlace &place = places[before];
  text.assign(parts.text, 0, place.from);
  text.append(1, '(').append(body).append(1, ')');
  if (!place.aliased) {
    if (view.alias.find('`') != std::string::npos) return false;
    text.append(" `").append(view.alias).append(1, '`');
  }
  text.append(parts.text, place.to);
  return true;
}

size_t sorted(const FormParts &parts) {
  return static_cast<size_t>(
      std::ranges::count_if(parts.derived, [](const FormDerived &one) { return one.sorted_whole; }));
}

/// Whether `next` is `parts` with a SELECT in place of the table at `at`; it then gets the views of `parts`, plus that
/// table.
bool takes_over(const FormParts &parts, size_t at, std::optional<FormAccount> definer, FormParts &next) {
  const size_t others = parts.tables.size() - 1;
  if (next.tables.size() <= others || next.derived.size() != parts.derived.size() + 1 ||
      next.values.size() != parts.values.size() || sorted(next) != sorted(parts))
    return false;
  const size_t inner = next.tables.size() - others;
  next.views = parts.views;
  next.views.push_back({parts.tables[at].database, parts.tables[at].table, std::move(definer), parts.tables[at].view});
  for (size_t i = 0; i < next.tables.size(); ++i) {
    if (i >= at && i < at + inner) {
      next.tables[i].view = static_cast<int32_t>(next.views.size()) - 1;
      continue;
    }
    const FormTable &old = parts.tables[i < at ? i : i - inner + 1];
    if (!same(old, next.tables[i])) return false;
    next.tables[i].view = old.view;
  }
  return true;
}

std::optional<FormAccount> reader_of(const FormParts &parts, int32_t view) {
  while (view >= 0) {
    const FormView &one = parts.views[static_cast<size_t>(view)];
    if (one.definer) return one.definer;
    view = one.within;
  }
  return std::nullopt;
}

void note_read(FormParts &parts, const FormTable &table, int32_t view) {
  std::optional<FormAccount> account = reader_of(parts, view);
  auto found = std::ranges::find(parts.reads, account, &FormReads::account);
  if (found == parts.reads.end()) found = parts.reads.insert(found, FormReads{std::move(account), {}});
  found->tables.push_back(table);
}

void note_reads(FormParts &parts) {
  for (const FormView &one : parts.views) note_read(parts, {one.database, one.table, one.table}, one.within);
  for (const FormTable &one : parts.tables) note_read(parts, one, one.view);
}

}  // namespace

bool parses_views(const THD *thd) {
  constexpr ulonglong modes = MODE_PIPES_AS_CONCAT | MODE_ANSI_QUOTES | MODE_IGNORE_SPACE | MODE_ORACLE |
                              MODE_HIGH_NOT_PRECEDENCE | MODE_NO_BACKSLASH_ESCAPES;
  return (thd->variables.sql_mode & modes) == 0 && my_charset_is_ascii_based(thd->variables.character_set_client);
}

std::optional<WhyNot> put_views(THD *thd, ParsedText parsed, FormParts &parts) {
  if (!parses_views(thd)) return WhyNot::view_text;
  const auto is_of_view = [thd](const FormTable &one) { return is_view(thd, {one.database, one.table}); };
  while (true) {
    const auto found = std::ranges::find_if(parts.tables, is_of_view);
    if (found == parts.tables.end()) break;
    if (parts.views.size() == views_max) return WhyNot::view;
    Definition definition;
    if (!look_at_view(thd, *found, definition)) return WhyNot::view;
    if (definition.of_a_role || !means_the_same(thd, definition)) return WhyNot::view_text;
    const auto at = static_cast<size_t>(found - parts.tables.begin());
    std::string text;
    if (!put_body(parts, at, definition.text, text)) return WhyNot::view;
    FormParts next;
    // Another definition may do.
    if (read_form(thd, text, parsed, next)) return WhyNot::view;
    if (!takes_over(parts, at, std::move(definition.definer), next)) return WhyNot::view;
    parts = std::move(next);
  }
  note_reads(parts);
  return std::nullopt;
}

uint64_t version_of_view(THD *thd, const FormView &view, bool for_long, MDL_ticket *&ticket) {
  const TableNames names(view.database, view.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  list.required_type = TABLE_TYPE_VIEW;
  const bool locked = lock_view(thd, list, for_long ? MDL_EXPLICIT : MDL_TRANSACTION);
  ticket = list.mdl_request.ticket;
  if (!locked) return 0;
  TABLE_SHARE *const share = tdc_acquire_share(thd, &list, GTS_VIEW);
  if (share == nullptr) return no_view;
  const uint64_t version = share->get_table_ref_version();
  tdc_release_share(share);
  return version;
}

}  // namespace postern::mariadb
