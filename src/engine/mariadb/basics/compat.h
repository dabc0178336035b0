// compat.h: the differences between the supported series of MariaDB, one function for each.
//
// No other file checks the server's version. 10.11 and 11.8 are tested. Where C++ can detect a member or function, the
// code checks for that and not for the version, because untested series may differ.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

static_assert(MYSQL_VERSION_ID >= 101100, "this engine is written for MariaDB 10.11 and later");

namespace postern::mariadb::compat {

// --- names and accounts ----------------------------------------------------------------------------------------------

#if MYSQL_VERSION_ID >= 110500  // names are passed with their lengths, in types of their own

inline bool is_database_name(const std::string &name) {
  return !Lex_ident_db::check_name(LEX_CSTRING{name.data(), name.size()});
}
inline bool is_table_name(const std::string &name) {
  return !Lex_ident_table::check_name(LEX_CSTRING{name.data(), name.size()}, false);
}
inline LEX_CSTRING text_of(const char *text) {
  return LEX_CSTRING{text, text != nullptr ? std::strlen(text) : 0};
}
/// Whether the names are equal in the character set, which usually ignores case.
inline bool same_name(CHARSET_INFO *charset, const char *left, const char *right) {
  return charset->streq(text_of(left), text_of(right));
}
/// Fills `context` with the account that matches a client's name and address, with its privileges on one database. `ip`
/// may be null.
inline bool find_account(Security_context &context, const std::string &user, const char *host, const char *ip,
                         const char *database = "") {
  return !acl_getroot(&context, text_of(user.c_str()), text_of(host), text_of(ip), text_of(database));
}
/// Sets the thread's role if it is granted; if not, an error may be set.
inline void take_role(THD *thd, const std::string &role) {
  privilege_t access(NO_ACL);
  if (acl_check_setrole(thd, text_of(role.c_str()), &access) == 0) acl_setrole(thd, text_of(role.c_str()), access);
}
inline bool column_is_granted(THD *thd, GRANT_INFO &grant, const std::string &database, const std::string &table,
                              const char *column, size_t size) {
  return !check_grant_column(thd, &grant, database.c_str(), table.c_str(), Lex_ident_column(LEX_CSTRING{column, size}),
                             thd->security_ctx);
}

#else

inline bool is_database_name(std::string name) {
  LEX_STRING text{name.data(), name.size()};
  return !check_db_name(&text);
}
inline bool is_table_name(const std::string &name) {
  return !check_table_name(name.data(), name.size(), false);
}
/// Whether the names are equal in the character set, which usually ignores case.
inline bool same_name(CHARSET_INFO *charset, const char *left, const char *right) {
  return my_strcasecmp(charset, left, right) == 0;
}
/// Fills `context` with the account that matches a client's name and address, with its privileges on one database. `ip`
/// may be null.
inline bool find_account(Security_context &context, const std::string &user, const char *host, const char *ip,
                         const char *database = "") {
  return !acl_getroot(&context, user.c_str(), host, ip, database);
}
/// Sets the thread's role if it is granted; if not, an error may be set.
inline void take_role(THD *thd, const std::string &role) {
  privilege_t access(NO_ACL);
  if (acl_check_setrole(thd, role.c_str(), &access) == 0) acl_setrole(thd, role.c_str(), access);
}
inline bool column_is_granted(THD *thd, GRANT_INFO &grant, const std::string &database, const std::string &table,
                              const char *column, size_t size) {
  return !check_grant_column(thd, &grant, database.c_str(), table.c_str(), column, size, thd->security_ctx);
}

#endif

// --- variables -------------------------------------------------------------------------------------------------------

/// Resets the thread's session variables to the global values. Checks for the member and not for the version: with it,
/// the session has the name of the connection to a primary, which the server sets from the global one.
template <class Thd>
void take_globals(Thd *thd) {
  if constexpr (requires { thd->default_master_connection_buff; }) {
    const char *const own = thd->variables.default_master_connection.str;
    plugin_thdvar_init(thd);
    thd->variables.default_master_connection.str = own;
  } else {
    plugin_thdvar_init(thd);
  }
}

/// The time from which a statement counts as slow, in microseconds. The member is renamed in later series.
template <class Thd>
auto slow_query_us(const Thd *thd) {
  if constexpr (requires { thd->variables.long_query_time; }) return thd->variables.long_query_time;
  else return thd->variables.log_slow_query_time;
}

/// The row counts for the slow log. Later series have a separate counter for it.
template <class Thd>
void set_rows(Thd *thd, ha_rows sent, ha_rows examined) {
  thd->set_sent_row_count(sent);
  if constexpr (requires { thd->set_examined_row_count(0); }) {
    thd->set_examined_row_count(examined);
  } else {
    thd->m_examined_row_count = examined;
    thd->sent_row_count_for_statement = sent;
    thd->examined_row_count_for_statement = examined;
  }
}

/// Variables of later series that affect how statements are resolved or planned: costs, and the default collations of
/// character sets.
template <class Variables>
std::array<ulonglong, 4> later_variables(const Variables &own) {
  if constexpr (requires { own.character_set_collations; }) {
    ulonglong collations = own.character_set_collations.count();
    for (uint i = 0; i < own.character_set_collations.count(); ++i) {
      const auto &one = own.character_set_collations[i];
      collations = (collations * 4099 + one.from()->number) * 4099 + one.to()->number;
    }
    return {own.new_behavior, std::bit_cast<ulonglong>(own.optimizer_where_cost),
            std::bit_cast<ulonglong>(own.optimizer_scan_setup_cost), collations};
  } else {
    return {};
  }
}
/// Whether the server has read statistics of the table from its system tables, by which it then counts the table's
/// rows.
template <class Share>
bool has_own_statistics(Share &share) {
  if constexpr (requires { share.stats_cb->stats_available; }) {
    mysql_mutex_lock(&share.LOCK_share);
    const bool has = share.stats_cb != nullptr && share.stats_cb->stats_available != TABLE_STAT_NO_STATS;
    mysql_mutex_unlock(&share.LOCK_share);
    return has;
  } else {
    return share.stats_cb.stats_can_be_read;
  }
}
/// Gives an open table the statistics from the server's system tables that are in memory, as the server does before it
/// optimizes. A table keeps those that it was given last until then.
template <class Table>
void take_own_statistics(Table &table) {
  if constexpr (requires { table.stats_cb->update_stats_in_table(&table); }) {
    if (table.s->stats_cb == nullptr || table.stats_cb == table.s->stats_cb) return;
    table.update_engine_independent_stats();
    if (table.stats_cb != nullptr) table.stats_cb->update_stats_in_table(&table);
  }
}
/// Copies the variables with memory of their own from `own` to `taken`.
template <class Variables>
void keep_own_memory(Variables &taken, const Variables &own) {
  if constexpr (requires { own.redirect_url; }) taken.redirect_url = own.redirect_url;
}

// --- plans and their tables ------------------------------------------------------------------------------------------

/// False: it failed; later series return that, others only note it.
template <class Join>
bool execute(Join &join) {
  if constexpr (std::is_void_v<decltype(join.exec())>) join.exec();
  else if (join.exec() != 0) return false;
  return join.error == 0;
}
/// Bytes of temporary files. Later series count and bound them for each session.
template <class Counts>
ulonglong bytes_of_files(const Counts &counts) {
  if constexpr (requires { counts.tmp_space_used; }) return counts.tmp_space_used;
  else return 0;
}
template <class Counts>
void set_bytes_of_files(Counts &counts, ulonglong bytes) {
  if constexpr (requires { counts.tmp_space_used; }) counts.tmp_space_used = bytes;
}
/// Later series limit the bytes of temporary files, including those of tables.
template <class Counts>
constexpr bool bounds_files(const Counts &counts) {
  return requires {
    counts.tmp_space_used;
  };
}
/// Indexes that the server stores in tables of their own.
template <class Share>
bool has_indexes_beside(Share &share) {
  if constexpr (requires { share.hlindexes(); }) return share.hlindexes() != 0;
  else return false;
}

// --- rows ------------------------------------------------------------------------------------------------------------

/// Rows that were read through the handler since its statistics began.
template <typename Handler>
uint64_t rows_read(const Handler &file) {
  if constexpr (requires { file.rows_stats; }) return file.rows_stats.read;
  else return file.rows_read;
}

/// True if a trigger has failed. In later series a BEFORE trigger may skip the row: `skipped` is set then.
template <class Table>
bool fire_triggers(THD *thd, Table &table, trg_event_type event, trg_action_time_type time, bool old_row_is_record1,
                   bool &skipped) {
  auto &triggers = *table.triggers;
  bool *const may_skip = time == TRG_ACTION_BEFORE ? &skipped : nullptr;
  if constexpr (requires { triggers.process_triggers(thd, event, time, old_row_is_record1, may_skip); })
    return triggers.process_triggers(thd, event, time, old_row_is_record1, may_skip);
  else return triggers.process_triggers(thd, event, time, old_row_is_record1);
}
/// Fills record[0] and fires BEFORE triggers. As fire_triggers().
template <class Table>
bool fill_record(THD *thd, Table &table, List<Item> &fields, List<Item> &values, trg_event_type event, bool &skipped) {
  if constexpr (requires { fill_record_n_invoke_before_triggers(thd, &table, fields, values, false, event, &skipped); })
    return fill_record_n_invoke_before_triggers(thd, &table, fields, values, false, event, &skipped);
  else return fill_record_n_invoke_before_triggers(thd, &table, fields, values, false, event);
}
/// For inserting, changing and deleting rows.
template <class Handler>
void prepare_for_writes(Handler &file) {
  if constexpr (requires { file.prepare_for_modify(true, true); }) file.prepare_for_modify(true, true);
  else file.prepare_for_insert(true);
}
template <class Handlerton>
void open_read_view(Handlerton &engine, THD *thd) {
  if constexpr (requires { engine.start_consistent_snapshot(thd); }) engine.start_consistent_snapshot(thd);
  else engine.start_consistent_snapshot(&engine, thd);
}
/// How many of total_ha_2pc are not storage engines: later series also count the log of online ALTER, and vector
/// indexes.
inline constexpr ulong own_participants = MYSQL_VERSION_ID >= 110800 ? 2 : MYSQL_VERSION_ID >= 110200 ? 1 : 0;
/// The first stage of a transaction's commit, which does not wait.
template <class Handlerton>
void commit_in_order(Handlerton &engine, THD *thd) {
  if constexpr (requires { engine.commit_ordered(thd, true); }) engine.commit_ordered(thd, true);
  else engine.commit_ordered(&engine, thd, true);
}
/// For the slow log: RETURNING sent `rows` of a change. Later series, detected by their separate slow-log counter, also
/// count them in the status variables.
template <class Thd>
void count_returned(Thd *thd, ulonglong rows) {
  thd->inc_sent_row_count(rows);
  if constexpr (requires { thd->sent_row_count_for_statement; }) thd->status_var.rows_sent += rows;
}
#ifdef HA_FULLTEXT  // a flag; in later series an algorithm
inline bool is_full_text_or_spatial(const KEY &key) {
  return key.flags & (HA_FULLTEXT | HA_SPATIAL);
}
#else
inline bool is_full_text_or_spatial(const KEY &key) {
  return key.algorithm == HA_KEY_ALG_FULLTEXT || key.algorithm == HA_KEY_ALG_RTREE;
}
#endif

}  // namespace postern::mariadb::compat
