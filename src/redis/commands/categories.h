// categories.h: the ACL categories of commands, for COMMAND and ACL CAT.
#pragma once

#include <vector>

#include "redis/registry/command.h"

namespace postern::redis {

/// With a @ before each; those that follow from the flags are among them.
std::vector<Bytes> categories_of(const Command &command);

}  // namespace postern::redis
