// call_tables.h: the parts of a session that most handlers use, so that they need not include the session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "redis/call.h"
#include "redis/tables.h"

namespace postern::redis {

/// The session's tables of keys.
Tables &tables_of(const Call &call);

/// The database that the client has selected.
uint8_t database_of(const Call &call);

/// The maximum size of a value, in bytes.
size_t value_bytes_max_of(const Call &call);
/// The longest string of Redis: reads beyond the end of a string take offsets up to here.
inline constexpr uint64_t string_bytes_max = uint64_t{512} << 20;

}  // namespace postern::redis
