// opening.h: opens one table by name without waiting.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/sql/attempt.h"

class THD;
struct TABLE_LIST;

namespace postern::mariadb {

using sql::OpenAttempt;
using sql::TableState;

/// A database's or a table's name as the server compares it, in lower case if it does.
std::string table_name(Bytes name);

/// For the server's open functions: fails if a metadata lock is not free, and repairs nothing.
extern const unsigned open_flags_without_waiting;

/// Fills `list` with the table reference of a statement of `thd`, for the server's open functions and for the storage
/// engine, which use it until the table is closed.
void name_table(THD *thd, TABLE_LIST &list, const std::string &database, const std::string &name, thr_lock_type lock);

/// Opens the tables of `list`, with its lock type, taking metadata locks only if they are free. `give_up_all` closes
/// every open table and releases every metadata lock of the thread; it is called when the server asks for that, and the
/// state is then `again`.
OpenAttempt open_without_waiting(THD *thd, TABLE_LIST &list, const std::function<void()> &give_up_all);

/// Releases the transaction's metadata locks, unless it continues with further statements.
void release_locks(THD *thd);

/// Why the server did not lock open tables, from the diagnostics area, which is cleared. State busy or failed.
OpenAttempt failed_lock(THD *thd);

}  // namespace postern::mariadb
