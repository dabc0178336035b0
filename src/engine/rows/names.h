// names.h: the names that may be opened, and a spec's names resolved in an open table.
#pragma once

#include <string>

#include "engine/server/table.h"
#include "engine/sql/attempt.h"

namespace postern::rows {

/// Whether these names may be opened at all: system schemas never are. State ready or failed.
sql::OpenAttempt may_be_opened(THD *thd, const std::string &database, const std::string &table);

/// Finds index and columns of an open table and fills in what OpenTable knows of them, unless it knew them of this very
/// instance and definition of the table already. State ready or failed.
sql::OpenAttempt resolve_names(THD *thd, OpenTable &table);

}  // namespace postern::rows
