// grants.h: the server's grants, as engine/rows/privileges asks for them.
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

/// The account whose statement the session executes.
engine::InformationViewer viewer_of(THD *thd);

/// Makes the account's present global privileges and role those of the thread while it lives.
class ActingAs {
 public:
  ActingAs(ServerThread &thread, const sql::ServerAccount &account);
  ~ActingAs() { thd_->security_ctx = own_; }
  ActingAs(const ActingAs &) = delete;
  ActingAs &operator=(const ActingAs &) = delete;

  /// The grants can be looked at.
  static constexpr bool ready() { return true; }
  /// False if the account was dropped, or another has come before it.
  bool exists() const { return exists_; }

 private:
  THD *const thd_;
  Security_context *const own_;
  const bool exists_;
};

/// Looks at one privilege on one table.
class TableLook {
 public:
  /// Unless `silent`, a refusal is reported and counted as a statement's.
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
