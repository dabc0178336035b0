// instead.h: script_instead(), the script that replaces a write in the generic keyspace that has met a key of another
// type, or the remains of one: it deletes these, and repeats the write.
#pragma once

#include "redis/call.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// For a write on the key of `place`; its op is complete except for the script. Made in the arena; it allocates only
/// when it runs.
Script *script_instead(Call &call, const Place &place, const Op &op, KeyReply &reply);

}  // namespace postern::redis
