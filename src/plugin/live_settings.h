// live_settings.h: what SET GLOBAL does with settings that change while clients are served.
//
// The server asks first whether a value may be taken, and then has it taken, with its lock of all global variables
// held.
#pragma once

#include "server_plugin.h"

#include <cstdint>
#include <string>

#include "door/connections/roster.h"

namespace postern::plugin {

// Whether a value may be taken; the error is set if not. `taken` becomes the value for the server to assign.

/// One of `words`, which are separated by commas.
bool take_word(const char *setting, const char *words, st_mysql_value *given, void *taken);
/// At most so many bytes, without a zero among them.
bool take_text(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken, size_t bytes_max);
/// A number within bounds: the nearest one is not where somebody wants a port.
bool take_number(const char *setting, st_mysql_value *given, void *taken, unsigned long long least,
                 unsigned long long most);
/// Anything but an empty one: an empty secret lets in everybody, and belongs in an option file.
bool take_secret(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken);
/// The number of a connection that `may_end` knows.
bool take_connection(st_mysql_value *given, void *taken, door::Ended (*may_end)(uint64_t id));
/// Sets the error of a value that may not be taken.
void refuse_value(const char *setting, const char *why);

// The value that a check has taken, for others that look at it.

std::string taken_text(const void *taken);
std::string taken_number(const void *taken);

// To take it.

/// The word as `words` has it, for ever, and its position there.
char *kept_word(const char *words, const void *given, unsigned &position);
/// Empty for none.
char *replace_text(const void *given, std::string &kept);
/// False: there is none.
bool replace_secret(const void *given, std::string &kept);

}  // namespace postern::plugin
