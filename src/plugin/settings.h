// settings.h: the values of the plugin's system variables, as the server set them before init.
#pragma once

struct st_mysql_sys_var;

namespace postern::plugin {

/// Read-only after the server has read its options. The rows are in settings.def.
struct Settings {
#define TEXT(name, initial, help) char *name;
#define HIDDEN_TEXT(name, help) char *name;
#define NUMBER(name, initial, least, most, help) unsigned long long name;
#define SWITCH(name, initial, help) char name;
#define CHOICE(name, initial, values, help) unsigned long name;
#include "settings.def"
#undef TEXT
#undef HIDDEN_TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE
};
extern Settings settings;

/// For the plugin's declaration.
extern st_mysql_sys_var *system_variables[];

}  // namespace postern::plugin
