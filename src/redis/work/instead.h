// instead.h: script_instead(), the script in place of a write in the generic keyspace that has met a key of another
// type, or the remains of one. It deletes that, and then does the same write again.
#pragma once

#include "redis/call.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// For a write on the key of `place`, whose op has all but its script. In the arena; it takes memory only when it runs.
Script *script_instead(Call &call, const Place &place, const Op &op, KeyReply &reply);

}  // namespace postern::redis
