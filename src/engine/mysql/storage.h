// storage.h: which storage engines may be opened.
#pragma once

#include "base/bytes.h"
#include "engine/sql/storage_engine.h"

struct TABLE;

namespace postern::mysqld {

using sql::StorageEngine;
using sql::Walks;

/// Of the table; nullptr for one that may not be opened: of all, InnoDB alone was tried.
const StorageEngine *storage_engine(const TABLE &table);

/// What the server calls it.
Bytes storage_engine_name(const TABLE &table);

}  // namespace postern::mysqld
