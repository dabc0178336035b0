// storage_engine.h: StorageEngine, the features of a server's storage engine.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

/// The directions in which the storage engine's indexes are walked in order.
enum class Walks : uint8_t {
  none,
  up,
  both,
  both_without_null,  ///< not if a column of the index may be NULL: rows would be missing
};

/// A storage engine that was tested with every request (tests/integration/engine/test_engines.py). Others are not
/// opened: a storage engine's requirements on its statement are documented nowhere, and the server may crash without
/// them.
struct StorageEngine {
  Bytes name;
  Walks walks;
  bool stays_open;  ///< its tables may be read by consecutive statements without closing them in between
};

}  // namespace postern::sql
