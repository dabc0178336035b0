// grants.h: checks of the server's grants, for engine/runs/privileges.
//
// Belongs to one executor and is used on its thread.
#pragma once

#include "engine/mysql/server.h"

#include <string>

#include "base/bytes.h"
#include "engine/information.h"
#include "engine/mysql/account.h"
#include "engine/mysql/thread.h"

namespace postern::mysqld {

using Privilege = Access_bitmask;

/// The account of the session's current statement.
engine::InformationViewer viewer_of(THD *thd);

/// Gives the thread the account's present privileges while it lives: its global ones, with partial revokes, and those
/// of its roles, which are its default ones and those that its login activated. GRANT and similar statements lock out
/// readers of the grants; a door's thread does not wait for one that has begun.
class ActingAs {
 public:
  ActingAs(ServerThread &thread, const sql::ServerAccount &account);
  ~ActingAs();
  ActingAs(const ActingAs &) = delete;
  ActingAs &operator=(const ActingAs &) = delete;

  /// Whether the grants can be read.
  bool ready() const { return ready_; }
  /// False if the account was dropped, or another one now matches first.
  bool exists() const { return exists_; }

 private:
  bool grants_are_free();
  bool take(const MysqlAccount &account);

  THD *const thd_;
  Security_context *const own_;
  Security_context acting_;
  const bool ready_;
  bool exists_ = false;
};

/// Checks one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is reported like that of a statement.
  TableLook(THD *thd, Bytes database, Bytes name, Privilege privilege, bool silent);

  bool table() const { return table_; }
  bool column(Bytes name);

 private:
  THD *const thd_;
  const Privilege privilege_;
  const std::string database_;
  const std::string name_;
  Table_ref list_;
  bool table_;
};

}  // namespace postern::mysqld
