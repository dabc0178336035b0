// grants.h: checks of the server's grants, for engine/runs/privileges.
//
// Belongs to one executor and is used on its thread.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <string>

#include "base/bytes.h"
#include "engine/information.h"
#include "engine/mariadb/basics/account.h"
#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {

using Privilege = privilege_t;

/// The account of the session's current statement.
engine::InformationViewer viewer_of(THD *thd);

/// Gives the thread the account's present global privileges and role while it lives.
class ActingAs {
 public:
  ActingAs(ServerThread &thread, const sql::ServerAccount &account);
  ~ActingAs() { thd_->security_ctx = own_; }
  ActingAs(const ActingAs &) = delete;
  ActingAs &operator=(const ActingAs &) = delete;

  /// Whether the grants can be read.
  static constexpr bool ready() { return true; }
  /// False if the account was dropped, or another one now matches first.
  bool exists() const { return exists_; }

 private:
  THD *const thd_;
  Security_context *const own_;
  const bool exists_;
};

/// Checks one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is reported and counted like that of a statement.
  TableLook(THD *thd, Bytes database, Bytes name, Privilege privilege, bool silent);

  bool table() const { return table_; }
  bool column(Bytes name);

 private:
  THD *const thd_;
  const std::string database_;
  const std::string name_;
  TABLE_LIST list_;
  bool table_;
};

}  // namespace postern::mariadb
