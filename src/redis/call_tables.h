// call_tables.h: the parts of a session that most handlers use, so that these need not see the session itself.
#pragma once

#include <cstddef>

#include "redis/call.h"
#include "redis/tables.h"

namespace postern::redis {

/// The tables that keys live in, as the client's session has them.
Tables &tables_of(const Call &call);

/// The most bytes that a value may have.
size_t value_bytes_max_of(const Call &call);

}  // namespace postern::redis
