// instead.h: script_instead(), what is run in place of a write in the generic keyspace that has met a key of another
// type in its way, or what is left of one. It deletes that, and then does the same write again.
#pragma once

#include "redis/call.h"
#include "redis/values/key_ops.h"

namespace postern::redis {

/// Of a write on the key of `place`, whose op has all but its script. In the arena; it takes memory only when it runs.
Script *script_instead(Call &call, const Place &place, const Op &op, KeyReply &reply);

}  // namespace postern::redis
