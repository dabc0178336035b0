// privileges.h: Privileges, what an account may do with an open index, by the server's grants.
//
// Belongs to one executor and is used on its thread. The outcome of a look holds for limits::privileges_hold_ms: so a
// privilege that is taken away holds within that time for ops that come after, and a busy account costs one look a
// time, not one an op.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "contract/executor.h"
#include "contract/op.h"
#include "engine/mariadb/account.h"
#include "engine/mariadb/failures.h"
#include "engine/mariadb/specs.h"
#include "engine/mariadb/table.h"

class THD;

namespace postern::mariadb {

class Privileges {
 public:
  void begin_batch(THD *thd) {
    thd_ = thd;
    now_ms_ = 0;
  }

  /// Whether the op's account may do it, so far as names tell; to be asked before the table is opened, so that nobody
  /// learns whether it exists. `access`: of the door, which decides what opening asks for.
  bool allow(const Op &op, const Spec &spec, Access access);
  /// The rest, for which the index must be known: that the account may see the columns of its key.
  bool allow_key(const Op &op, const Spec &spec, const OpenTable &table, Access access);
  /// Why the op that was just refused was, in the server's words; the same whether or not the table exists.
  ServerError why(const Op &op, const Spec &spec, Access access, const OpenTable *table);

 private:
  // Bits of what is allowed, and of what an op needs.
  using Rights = uint8_t;
  static constexpr Rights see = 1, filter = 2, insert = 4, update = 8, erase = 16, see_key = 32;

  struct Look {
    uint64_t account = 0;
    uint64_t spec = 0;
    int64_t begun_ms = 0;  // 0: never
    Rights known = 0;      // what was looked at since
    Rights rights = 0;     // of these, what is allowed
  };

  static Rights needs(const Op &op, Access access);
  Look &look_for(const MariaAccount &account, const Spec &spec);
  /// Whether all of `needed` is allowed. `table`: for see_key alone.
  bool has(Rights needed, const MariaAccount &account, const Spec &spec, const OpenTable *table);
  Rights look_at(Rights wanted, const MariaAccount &account, const Spec &spec, const OpenTable *table);
  int64_t now_ms();

  THD *thd_ = nullptr;
  int64_t now_ms_ = 0;  // of the batch; 0: not asked for yet
  std::unordered_map<uint64_t, Look> looks_;
};

}  // namespace postern::mariadb
