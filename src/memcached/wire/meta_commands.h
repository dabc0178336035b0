// meta_commands.h: the commands of the meta dialect: `mn`, `mg` and so on.
#pragma once

#include "memcached/wire/command_line.h"

namespace postern::memcached {

/// Makes the line's request. The line has at least one word. A key in base64 is checked but not decoded: see
/// decode_key().
void parse_meta(CommandLine &command);
/// Decodes a checked key in place. Once for each request: the line is parsed again until its value is complete.
void decode_key(Request &request);

}  // namespace postern::memcached
