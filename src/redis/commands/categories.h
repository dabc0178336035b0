// categories.h: the ACL categories of commands, for COMMAND and ACL CAT.
#pragma once

#include <vector>

#include "redis/registry/command.h"

namespace postern::redis {

/// The categories, each with @, including those implied by the flags.
std::vector<Bytes> categories_of(const Command &command);

}  // namespace postern::redis
