// flush.h: flush_letters(), called before a command that ends subscriptions: no message follows its reply.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// Sends the client's letters before the reply to the command.
void flush_letters(Call &call);

}  // namespace postern::redis
