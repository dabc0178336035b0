// settings.h: the values of the plugins' system variables, which the server sets before init.
//
// Set by the server: at start, before check_settings(), and LIVE ones by SET GLOBAL. Read only by the threads that set
// them, and while a plugin is loaded: other threads read a door's options or a protocol's settings. DoorSettings is the
// part of every plugin, ClientSettings that of plugins that serve clients by themselves; plugin_settings.inc makes each
// plugin's struct from one of them and the plugin's rows.
#pragma once

#include "server_plugin.h"

#include <string>

namespace postern::plugin {

// The rows as members of a struct.
#define TEXT_MEMBER(name, initial, help) char *name;
#define SECRET_MEMBER(name, help) \
  char *name;                     \
  char *new_##name; /* what SHOW VARIABLES tells: nothing */
#define LIVE_TEXT_MEMBER(name, initial, bytes_max, help) char *name;
#define ACTION_MEMBER(name, help) unsigned long long name;
#define NUMBER_MEMBER(name, initial, least, most, help) unsigned long long name;
#define SWITCH_MEMBER(name, initial, help) SwitchValue name;
#define CHOICE_MEMBER(name, Words, initial, help, ...) \
  enum class Words : unsigned { __VA_ARGS__ };         \
  char *name;                                          \
  Words name##_choice;

#define TEXT TEXT_MEMBER
#define NUMBER NUMBER_MEMBER
#define SWITCH SWITCH_MEMBER
#define CHOICE CHOICE_MEMBER
#define LIVE_NUMBER NUMBER_MEMBER
#define LIVE_SWITCH SWITCH_MEMBER
#define LIVE_CHOICE CHOICE_MEMBER
#define ACTION ACTION_MEMBER
struct DoorSettings {
#include "door_settings.def"
};
struct ClientSettings : DoorSettings {
#include "client_settings.def"
};
#undef TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE
#undef LIVE_NUMBER
#undef LIVE_SWITCH
#undef LIVE_CHOICE
#undef ACTION

/// Whether all settings are valid; if not, the log names the invalid one. The server refuses malformed values unless a
/// setting's name begins with loose_, as it should: then it continues, with 0 for a number. A door must not open with
/// unintended settings, least of all without authentication.
bool is_within(const char *setting, unsigned long long value, unsigned long long least, unsigned long long most);
bool is_short(const char *setting, const char *value, size_t bytes_max);
/// `words` are separated by commas; a position among them is accepted, too. `position`: that of the value.
bool is_one_of(const char *setting, const char *value, const char *words, unsigned &position);
/// The same, without an error. `word`: as in `words`, which lives for ever.
bool find_word(const char *value, const char *words, unsigned &position, std::string &word);

}  // namespace postern::plugin
