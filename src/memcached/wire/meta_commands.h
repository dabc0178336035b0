// meta_commands.h: the commands of the meta dialect: `mn`, `mg` and so on.
#pragma once

#include "memcached/wire/command_line.h"

namespace postern::memcached {

/// Makes the line's request. The line has at least one word. A key in base64 is checked but left as it came: see
/// decode_key().
void parse_meta(CommandLine &command);
/// Decodes a checked key in place. Once a request: the line is parsed again for as long as its value is not there.
void decode_key(Request &request);

}  // namespace postern::memcached
