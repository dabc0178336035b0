// names.h: checks which names may be opened, and resolves a spec's names in an open table.
#pragma once

#include <string>

#include "engine/server/table.h"
#include "engine/sql/attempt.h"

namespace postern::rows {

/// Whether these names may be opened at all: system schemas never are. State ready or failed.
sql::OpenAttempt may_be_opened(THD *thd, const std::string &database, const std::string &table);

/// Finds the index and columns in an open table, unless they are known for this instance and definition of the table
/// already. State ready or failed.
sql::OpenAttempt resolve_names(THD *thd, OpenTable &table);

}  // namespace postern::rows
