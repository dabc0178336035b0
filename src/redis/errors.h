// errors.h: a failed op as a client sees it: Redis's word for the error, and the server's message.
#pragma once

#include "contract/reply.h"
#include "redis/wire/writer.h"

namespace postern::redis {

/// Writes one error reply, of an op that fails with this outcome. By the kind of the failure, but for those that have
/// words of their own.
void write_failure(Writer &writer, const Outcome &outcome);

}  // namespace postern::redis
