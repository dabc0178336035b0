// instead.h: script_instead(), what is run in place of a write that has met a row in its way: one that has expired, or
// a key of another type. It deletes that, and then does the same write again.
#pragma once

#include "redis/call.h"
#include "redis/key_ops.h"

namespace postern::redis {

/// Of a write on the row of `place`, whose op has all but its script. In the arena; it takes memory only when it runs.
Script *script_instead(Call &call, const Place &place, const Op &op, KeyReply &reply);

}  // namespace postern::redis
