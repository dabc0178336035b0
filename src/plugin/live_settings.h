// live_settings.h: checks and updates of settings that SET GLOBAL may change.
//
// The server first calls the check and then the update, under its lock of all global variables.
#pragma once

#include "server_plugin.h"

#include <cstdint>
#include <string>

#include "door/connections/roster.h"

namespace postern::plugin {

// Checks a value, and sets the error if it is refused. `taken` becomes the value for the server to assign.

/// One of `words`, which are separated by commas.
bool take_word(const char *setting, const char *words, st_mysql_value *given, void *taken);
/// At most so many bytes, without a zero byte.
bool take_text(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken, size_t bytes_max);
/// A number within bounds: a port must not be adjusted to the nearest one.
bool take_number(const char *setting, st_mysql_value *given, void *taken, unsigned long long least,
                 unsigned long long most);
/// Anything but the empty text: an empty secret admits every client, and has to be set in an option file.
bool take_secret(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken);
/// The number of a connection that `may_end` knows.
bool take_connection(st_mysql_value *given, void *taken, door::Ended (*may_end)(uint64_t id));
/// Sets the error of a refused value.
void refuse_value(const char *setting, const char *why);

// The value that a check has accepted, for further checks.

std::string taken_text(const void *taken);
std::string taken_number(const void *taken);

// Functions for the update.

/// The word as spelt in `words`, which lives for ever, and its position there.
char *kept_word(const char *words, const void *given, unsigned &position);
/// Empty for none.
char *replace_text(const void *given, std::string &kept);
/// False: there is none.
bool replace_secret(const void *given, std::string &kept);

}  // namespace postern::plugin
