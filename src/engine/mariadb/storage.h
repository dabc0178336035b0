// storage.h: which storage engines may be opened, and what each can be asked for.
#pragma once

#include <cstdint>

#include "base/bytes.h"

struct TABLE;

namespace postern::mariadb {

/// In which directions an index of the storage engine is walked in order.
enum class Walks : uint8_t {
  none,
  up,
  both,
  both_without_null,  ///< not where a column of the index may be NULL: rows are left out then
};

/// One that was tried with every request (tests/integration/engine/test_engines.py). Others are not opened: what a
/// storage engine asks of the statement it runs in is written nowhere, and what it does not find there may end the
/// server.
struct StorageEngine {
  Bytes name;
  Walks walks;
  bool stays_open;  ///< its tables may be read by one statement after another without being closed in between
};

/// Of the table, or of its partitions; nullptr for one that may not be opened.
const StorageEngine *storage_engine(const TABLE &table);

/// What the server calls it.
Bytes storage_engine_name(const TABLE &table);

}  // namespace postern::mariadb
