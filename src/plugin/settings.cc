#include <mysql/plugin.h>

#include <iterator>

#include "settings.h"

namespace postern::plugin {

Settings settings;

namespace {

// The server wants a list of words for each CHOICE.
const char *auth_words[] = {"none", "secret", "account", nullptr};
TYPELIB auth_typelib = {std::size(auth_words) - 1, "", auth_words, nullptr};
const char *errors_words[] = {"compatible", "text", nullptr};
TYPELIB errors_typelib = {std::size(errors_words) - 1, "", errors_words, nullptr};

#define TEXT(name, initial, help) \
  MYSQL_SYSVAR_STR(name, settings.name, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY, help, nullptr, nullptr, initial);
#define HIDDEN_TEXT(name, help)                                                                                \
  MYSQL_SYSVAR_STR(name, settings.name, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY | PLUGIN_VAR_NOSYSVAR, help, \
                   nullptr, nullptr, "");
#define NUMBER(name, initial, least, most, help)                                                                 \
  MYSQL_SYSVAR_ULONGLONG(name, settings.name, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY, help, nullptr, nullptr, \
                         initial, least, most, 0);
#define SWITCH(name, initial, help) \
  MYSQL_SYSVAR_BOOL(name, settings.name, PLUGIN_VAR_OPCMDARG | PLUGIN_VAR_READONLY, help, nullptr, nullptr, initial);
#define CHOICE(name, initial, values, help)                                                                      \
  MYSQL_SYSVAR_ENUM(name, settings.name, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY, help " One of: " values ".", \
                    nullptr, nullptr, initial, &name##_typelib);
#include "settings.def"
#undef TEXT
#undef HIDDEN_TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE

}  // namespace

st_mysql_sys_var *system_variables[] = {
#define TEXT(name, initial, help) MYSQL_SYSVAR(name),
#define HIDDEN_TEXT(name, help) MYSQL_SYSVAR(name),
#define NUMBER(name, initial, least, most, help) MYSQL_SYSVAR(name),
#define SWITCH(name, initial, help) MYSQL_SYSVAR(name),
#define CHOICE(name, initial, values, help) MYSQL_SYSVAR(name),
#include "settings.def"
#undef TEXT
#undef HIDDEN_TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE
    nullptr};

}  // namespace postern::plugin
