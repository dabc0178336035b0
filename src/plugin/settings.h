// settings.h: the values of the plugins' system variables, as the server set them before init.
//
// Read-only after the server has read its options. The rows are in door_settings.def and in each plugin's own file.
#pragma once

struct st_mysql_sys_var;

namespace postern::plugin {

#define TEXT(name, initial, help) char *name;
#define HIDDEN_TEXT(name, help) char *name;
#define NUMBER(name, initial, least, most, help) unsigned long long name;
#define SWITCH(name, initial, help) char name;
#define CHOICE(name, initial, values, help) unsigned long name;

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

namespace handlersocket {
extern HandlerSocketSettings settings;
extern st_mysql_sys_var *system_variables[];  ///< for the plugin's declaration
}  // namespace handlersocket
namespace memcached {
extern MemcachedSettings settings;
extern st_mysql_sys_var *system_variables[];
}  // namespace memcached

}  // namespace postern::plugin
