// privileges.h: Privileges, an account's rights on an open index, by the server's grants.
//
// Belongs to one executor and is used on its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/executor.h"
#include "contract/op.h"
#include "engine/server/failures.h"
#include "engine/server/grants.h"
#include "engine/server/table.h"
#include "engine/sql/known_rights.h"
#include "engine/sql/server_account.h"

namespace postern::rows {

class Privileges {
 public:
  void begin_batch(ServerThread &thread) {
    thread_ = &thread;
    now_ms_ = 0;
  }

  /// Whether the op's account may do it, as far as names decide; called before the table is opened, so that clients
  /// cannot learn whether it exists. `access`: the door's, which decides the rights for opening.
  bool allow(const Op &op, const Spec &spec, Access access);
  /// The remaining check, which needs the open index: whether the account may read the columns of its key.
  bool allow_key(const Op &op, const Spec &spec, const OpenTable &table, Access access);
  /// Whether the last check was refused only because the grants are being changed.
  bool busy() const { return busy_; }
  /// The server's message for the last refusal; the same whether or not the table exists.
  ServerError why(const Op &op, const Spec &spec, Access access, const OpenTable *table);

 private:
  /// Whether all of `needed` is allowed. `table`: for see_key only.
  bool has(sql::Rights needed, const sql::ServerAccount &account, const Spec &spec, const OpenTable *table);
  std::optional<sql::Rights> look_at(sql::Rights wanted, const sql::ServerAccount &account, const Spec &spec,
                                     const OpenTable *table);
  int64_t now_ms();

  ServerThread *thread_ = nullptr;
  bool busy_ = false;
  int64_t now_ms_ = 0;  // the batch's; 0: not read yet
  sql::KnownRights known_;
};

}  // namespace postern::rows
