// command_keys.h: where the keys of a command stand among its arguments.
#pragma once

#include <span>
#include <vector>

#include "redis/command.h"

namespace postern::redis {

/// The keys behind their number, which stands behind the key that it stores to, or how long it waits, if there is one.
/// None: the number is wrong. Of a command with movablekeys that is no SORT.
std::span<const Bytes> counted_keys_of(const Command &command, std::span<const Bytes> arguments);
bool is_sort(const Command &command);
/// All of them. The arguments are at least as many as the command takes.
std::vector<Bytes> keys_of(const Command &command, std::span<const Bytes> arguments);

}  // namespace postern::redis
