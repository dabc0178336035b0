// plugin.cc: Postern as the server loads it: one daemon plugin per row of doors.def, in one library.
#include "loaded.h"

#include <string>

#include "base/log.h"
#include "door/connections/thread.h"
#include "engine/engine.h"
#include "information_tables.h"
#include "library.h"

namespace postern::plugin {
namespace {

/// Made when the library is loaded, before the server checks its version.
const struct AtLoading {
  AtLoading() {
    library::keep_data();
    engine::tell_if_refused(MYSQL_SERVER_VERSION);
  }
} at_loading;

/// Whether a plugin was unloaded since the library was loaded.
bool one_has_gone = false;
/// A door was allowed in a server of another build; so are the tables that show it.
bool other_build_allowed = false;

bool init_table(const char *name, void *given, const engine::InformationTable &table) {
  log::set_sink(engine::write_error_log);
  return may_run(name, other_build_allowed) && engine::set_information_table(given, table);
}

}  // namespace

std::string why_not_here(bool allows_other_build) {
  if (const std::string name = library::missing_name(); !name.empty())
    return "the server has no " + name +
           ", which this library needs: it is configured otherwise than the one that the library was built for";
  if (const std::string unlike = engine::unlike_the_server(); !unlike.empty())
    return unlike + ": it is configured otherwise than the one that the library was built for";
  const std::string otherwise = engine::configured_otherwise(MYSQL_SERVER_VERSION MYSQL_SERVER_SUFFIX_DEF);
  if (!otherwise.empty() && !allows_other_build)
    return otherwise +
           ": what others have built may keep its data elsewhere in memory. Build Postern for this server, or set "
           "loose_..._allow_other_build=ON for each of its plugins if you know that both are configured alike";
  if (one_has_gone && !library::is_the_file())
    return library::path() +
           " is not what the server has in memory: it was replaced after it was loaded. UNINSTALL SONAME 'postern', "
           "by the server's own port, has the old one leave, if no door of Postern has been left by its own door, and "
           "postern_main_port was off; else restart the server";
  other_build_allowed = other_build_allowed || allows_other_build;
  return {};
}

void note_gone() {
  one_has_gone = true;
  // UNINSTALL may come through a door.
  if (door::Thread::is_caller()) library::stay();
}

#include "door_functions.inc"

}  // namespace postern::plugin

// A table of INFORMATION_SCHEMA is a plugin, too.
#include "information_functions.inc"

// The array begins in the macro. maria_declare_plugin_end begins with a comma, but each row here ends with one.
maria_declare_plugin(postern)
#define DOOR(name, folder, prefix, sentence) \
  {MYSQL_DAEMON_PLUGIN,                      \
   &postern::plugin::name::descriptor,       \
   #name,                                    \
   "Postern",                                \
   sentence,                                 \
   PLUGIN_LICENSE_GPL,                       \
   postern::plugin::name::init,              \
   postern::plugin::name::deinit,            \
   0x0001,                                   \
   postern::plugin::name::status_variables,  \
   postern::plugin::name::system_variables,  \
   POSTERN_VERSION,                          \
   MariaDB_PLUGIN_MATURITY_GAMMA},
#include "doors.def"
#undef DOOR
#define TABLE(its, named, sentence)                \
  {MYSQL_INFORMATION_SCHEMA_PLUGIN,                \
   &postern::plugin::information::its::descriptor, \
   named,                                          \
   "Postern",                                      \
   sentence,                                       \
   PLUGIN_LICENSE_GPL,                             \
   postern::plugin::information::its::init,        \
   postern::plugin::information::its::deinit,      \
   0x0001,                                         \
   nullptr,                                        \
   nullptr,                                        \
   POSTERN_VERSION,                                \
   MariaDB_PLUGIN_MATURITY_GAMMA},
#include "information.def"
#undef TABLE
#undef COLUMN
// clang-format off
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
// clang-format on
