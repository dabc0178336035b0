// settings.h: the values of the plugins' system variables, as the server set them before init.
//
// Read-only after the server has read its options and check_settings() has looked at them. The rows are in
// door_settings.def and in each plugin's own file.
#pragma once

struct st_mysql_sys_var;

namespace postern::plugin {

#define TEXT(name, initial, help) char *name;
#define HIDDEN_TEXT(name, help) char *name;
#define NUMBER(name, initial, least, most, help) unsigned long long name;
#define SWITCH(name, initial, help) char name;
#define CHOICE(name, initial, values, help) \
  char *name;                               \
  unsigned name##_choice;

/// What every plugin has.
struct DoorSettings {
#include "door_settings.def"
};
struct HandlerSocketSettings : DoorSettings {
#include "handlersocket_settings.def"
};
struct MemcachedSettings : DoorSettings {
#include "memcached_settings.def"
};

#undef TEXT
#undef HIDDEN_TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE

/// Whether a setting has a sensible value; if not, the log says which. The server refuses values that it cannot read
/// unless a setting's name begins with loose_, as it should: then it goes on, with 0 for a number. A door with other
/// settings than those that were meant must not open, least of all one that asks for nothing.
bool is_within(const char *setting, unsigned long long value, unsigned long long least, unsigned long long most);
/// `words` are separated by commas; a position among them does as well. `position` is where the value was found.
bool is_one_of(const char *setting, const char *value, const char *words, unsigned &position);

namespace handlersocket {
extern HandlerSocketSettings settings;
extern st_mysql_sys_var *system_variables[];  ///< for the plugin's declaration
/// To be called before the settings are used: whether all make sense; sets the choices.
[[nodiscard]] bool check_settings();
}  // namespace handlersocket
namespace memcached {
extern MemcachedSettings settings;
extern st_mysql_sys_var *system_variables[];
[[nodiscard]] bool check_settings();
}  // namespace memcached

}  // namespace postern::plugin
