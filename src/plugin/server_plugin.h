// server_plugin.h: the plugin interfaces of MariaDB and MySQL by the same names. No other file here depends on the
// server.
#pragma once

#include <mysql/plugin.h>

#ifdef MARIA_PLUGIN_INTERFACE_VERSION

namespace postern::plugin {

using LoadedPlugin = void *;
using SystemVariable = st_mysql_sys_var;
using StatusVariable = st_mysql_show_var;
using SwitchValue = char;
inline constexpr auto shown_as_number = SHOW_ULONGLONG;

using ShowFunction = int (*)(MYSQL_THD, StatusVariable *, char *);
inline StatusVariable status_variable(const char *name, void *value, enum_mysql_show_type type) {
  return {name, value, type};
}

}  // namespace postern::plugin

#else

// Declared in the server's my_sys.h, which is not included here.
extern void my_printf_error(unsigned error, const char *format, int flags, ...);

namespace postern::plugin {

using LoadedPlugin = MYSQL_PLUGIN;
using SystemVariable = SYS_VAR;
using StatusVariable = SHOW_VAR;
using SwitchValue = bool;
inline constexpr auto shown_as_number = SHOW_LONGLONG;

using ShowFunction = mysql_show_var_func;
inline StatusVariable status_variable(const char *name, void *value, enum_mysql_show_type type) {
  return {name, static_cast<char *>(value), type, SHOW_SCOPE_GLOBAL};
}

}  // namespace postern::plugin

#endif

namespace postern::plugin {

inline StatusVariable status_by_function(const char *prefix, ShowFunction show) {
  return status_variable(prefix, reinterpret_cast<void *>(show), SHOW_FUNC);
}
inline StatusVariable status_end() {
  return status_variable(nullptr, nullptr, SHOW_UNDEF);
}

}  // namespace postern::plugin
