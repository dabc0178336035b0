// flush.h: flush_letters(), called before a command that ends subscriptions: no message follows its reply.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// Letters for the client are sent before the reply to the command.
void flush_letters(Call &call);

}  // namespace postern::redis
