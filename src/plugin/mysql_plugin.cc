// mysql_plugin.cc: Postern as MySQL loads it: one daemon plugin per row of doors.def, in one library.
#include "loaded.h"

#include "base/log.h"
#include "engine/engine.h"
#include "information_tables.h"

namespace postern::plugin {
namespace {

bool init_table(const char *, void *given, const engine::InformationTable &table) {
  log::set_sink(engine::write_error_log);
  return engine::set_information_table(given, table);
}

}  // namespace

/// MySQL loads a plugin only into the version that it was built for.
std::string why_not_here(bool) {
  return {};
}

/// The library is linked so that it stays in the process.
void note_gone() {}

#include "door_functions.inc"

}  // namespace postern::plugin

// A table of INFORMATION_SCHEMA is a plugin, too.
#include "information_functions.inc"

// mysql_declare_plugin_end begins with a comma, but each row here ends with one.
mysql_declare_plugin(postern)
#define DOOR(name, folder, prefix, sentence) \
  {MYSQL_DAEMON_PLUGIN,                      \
   &postern::plugin::name::descriptor,       \
   #name,                                    \
   "Postern",                                \
   sentence,                                 \
   PLUGIN_LICENSE_GPL,                       \
   postern::plugin::name::init,              \
   nullptr,                                  \
   postern::plugin::name::deinit,            \
   0x0001,                                   \
   postern::plugin::name::status_variables,  \
   postern::plugin::name::system_variables,  \
   nullptr,                                  \
   0},
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
   nullptr,                                        \
   postern::plugin::information::its::deinit,      \
   0x0001,                                         \
   nullptr,                                        \
   nullptr,                                        \
   nullptr,                                        \
   0},
#include "information.def"
#undef TABLE
#undef COLUMN
// clang-format off
    {0, nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0}};
// clang-format on
