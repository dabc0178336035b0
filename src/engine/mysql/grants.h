// grants.h: the server's grants, as engine/rows/privileges asks for them.
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

/// The account whose statement the session executes.
engine::InformationViewer viewer_of(THD *thd);

/// Makes the account's present privileges those of the thread while it lives: its global ones with what was revoked of
/// them for single databases, and those of its roles, which are its default ones and those that its login made active.
/// GRANT and its like lock out whoever looks at the grants; a thread of ours does not wait for one that has begun.
class ActingAs {
 public:
  ActingAs(ServerThread &thread, const sql::ServerAccount &account);
  ~ActingAs();
  ActingAs(const ActingAs &) = delete;
  ActingAs &operator=(const ActingAs &) = delete;

  /// The grants can be looked at.
  bool ready() const { return ready_; }
  /// False if the account was dropped, or another has come before it.
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

/// Looks at one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is reported as a statement's.
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
