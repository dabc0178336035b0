// storage.h: which storage engines may be opened.
#pragma once

#include "base/bytes.h"
#include "engine/sql/storage_engine.h"

struct TABLE;

namespace postern::mysqld {

using sql::StorageEngine;
using sql::Walks;

/// The table's storage engine; nullptr for one that may not be opened: only InnoDB was tested.
const StorageEngine *storage_engine(const TABLE &table);

/// The server's name for it.
Bytes storage_engine_name(const TABLE &table);

}  // namespace postern::mysqld
