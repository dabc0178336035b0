// opening.h: one table by name, without waiting for anybody.
#pragma once

#include <functional>
#include <string>

#include <thr_lock.h>

#include "base/bytes.h"
#include "engine/sql/attempt.h"

class THD;
class Table_ref;

namespace postern::mysqld {

using sql::OpenAttempt;
using sql::TableState;

/// A database's or a table's name as the server compares it: lower case where it does so.
std::string table_name(Bytes name);

/// Begins a statement's LEX, a SELECT's. On memory of the thread: that of a statement goes with each.
void start_lex(THD *thd);

/// For the server's open functions: fail where a metadata lock is not free.
extern const unsigned open_flags_without_waiting;

/// Makes `list` what names a table in a statement, for the server's open functions.
void name_table(THD *thd, Table_ref &list, const std::string &database, const std::string &name, thr_lock_type lock);

/// Gives up the metadata locks that a transaction holds until its end, unless it goes on with further statements.
void release_locks(THD *thd);

/// Opens what `list` names, with the lock type it has, taking metadata locks only if they are free. `give_up_all`
/// closes every open table and releases every metadata lock of the thread; it is called where the server asks for that,
/// and the state is then `again`.
OpenAttempt open_without_waiting(THD *thd, Table_ref &list, const std::function<void()> &give_up_all);

/// Why the server did not lock open tables, from the diagnostics area, which it clears. State busy or failed.
OpenAttempt failed_lock(THD *thd);

}  // namespace postern::mysqld
