// storage_engine.h: StorageEngine, the features of a server's storage engine.
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

/// One that was tried with every request (tests/integration/engine/test_engines.py). Others are not opened: nobody has
/// written down what a storage engine needs of the statement it runs in, and the server may crash where that is
/// missing.
struct StorageEngine {
  Bytes name;
  Walks walks;
  bool stays_open;  ///< its tables may be read by one statement after another without being closed in between
};

}  // namespace postern::sql
