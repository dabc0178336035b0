// storage_engine.h: StorageEngine, what a storage engine of a server can be asked for.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

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

}  // namespace postern::sql
