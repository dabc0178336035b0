// text_commands.h: the commands of the text dialect, except those that take keys one by one, which text_framer.h has.
#pragma once

#include "memcached/wire/command_line.h"

namespace postern::memcached {

/// Makes the line's request. The line has at least one word.
void parse_text(CommandLine &command);

}  // namespace postern::memcached
