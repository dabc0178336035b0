// errors.h: the error reply for a failed op: Redis's error code and the server's message.
#pragma once

#include "contract/reply.h"
#include "redis/wire/writer.h"

namespace postern::redis {

/// Writes the error reply of an op with this outcome. The error code follows from the kind of the failure, unless the
/// failure has its own.
void write_failure(Writer &writer, const Outcome &outcome);

}  // namespace postern::redis
