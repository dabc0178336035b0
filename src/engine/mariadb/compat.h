// compat.h: what differs between the series of MariaDB that this engine is built for, one function a difference.
//
// No other file asks for the version: whoever adds a series gives these functions another body for it, by #if here.
// What is known to differ in 11.8 (11.5 for the first five): names are passed as LEX_CSTRING or types of their own;
// triggers may pass over a row; a handler is prepared for deleting apart; a view is opened without its engine; KEY has
// no flags for full-text and spatial indexes.
#pragma once

#include "engine/mariadb/server.h"

#include <string>

static_assert(MYSQL_VERSION_ID >= 101100 && MYSQL_VERSION_ID < 101200, "this engine is written for MariaDB 10.11");

namespace postern::mariadb::compat {

// --- names -----------------------------------------------------------------------------------------------------------

inline bool is_database_name(std::string name) {
  LEX_STRING text{name.data(), name.size()};
  return !check_db_name(&text);
}
inline bool is_table_name(const std::string &name) {
  return !check_table_name(name.data(), name.size(), false);
}

// --- accounts --------------------------------------------------------------------------------------------------------

/// Fills `context` with the account that a client of this name and address would be. `ip` may be null.
inline bool find_account(Security_context &context, const std::string &user, const char *host, const char *ip) {
  return !acl_getroot(&context, user.c_str(), host, ip, "");
}
/// Makes the role the thread's if it is granted; if not, an error may be set.
inline void take_role(THD *thd, const std::string &role) {
  privilege_t access(NO_ACL);
  if (acl_check_setrole(thd, role.c_str(), &access) == 0) acl_setrole(thd, role.c_str(), access);
}
inline bool column_is_granted(THD *thd, GRANT_INFO &grant, const std::string &database, const std::string &table,
                              const char *column, size_t size) {
  return !check_grant_column(thd, &grant, database.c_str(), table.c_str(), column, size, thd->security_ctx);
}

// --- rows ------------------------------------------------------------------------------------------------------------

/// True if one has failed, or will not have the row.
inline bool fire_triggers(THD *thd, TABLE &table, trg_event_type event, trg_action_time_type time,
                          bool old_row_is_record1) {
  return table.triggers->process_triggers(thd, event, time, old_row_is_record1);
}
/// Fills record[0] and fires BEFORE triggers. True as of fire_triggers().
inline bool fill_record(THD *thd, TABLE &table, List<Item> &fields, List<Item> &values, trg_event_type event) {
  return fill_record_n_invoke_before_triggers(thd, &table, fields, values, false, event);
}
/// For inserting, changing and deleting rows.
inline void prepare_for_writes(handler &file) {
  file.prepare_for_insert(true);
}
inline void open_read_view(handlerton &engine, THD *thd) {
  engine.start_consistent_snapshot(&engine, thd);
}
inline bool is_full_text_or_spatial(const KEY &key) {
  return key.flags & (HA_FULLTEXT | HA_SPATIAL);
}

}  // namespace postern::mariadb::compat
