// plugin.cc: what the server sees of Postern: one daemon plugin per row of doors.def, in one library.
#include <mysql/plugin.h>

#include <new>
#include <utility>

#include "base/log.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "running.h"

namespace postern::plugin {
namespace {

/// Made when the library is loaded, which is before the server looks at its version.
const struct AtLoading {
  AtLoading() { engine::tell_if_refused(MYSQL_SERVER_VERSION); }
} at_loading;

struct Plugin {
  const char *name;
  bool (*check_settings)();
  std::unique_ptr<Running> (*make_running)();
  Running *running = nullptr;  // from init to deinit, but not while the server installs itself
};

void close(Plugin &plugin) {
  delete std::exchange(plugin.running, nullptr);
}

int init(Plugin &plugin) {
  log::set_sink(engine::write_error_log);
  if (engine::server_is_bootstrapping()) return 0;
  if (!plugin.check_settings()) return 1;
  try {
    plugin.running = plugin.make_running().release();
    if (plugin.running->open()) return 0;
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", plugin.name);
  }
  close(plugin);
  return 1;
}

int deinit(Plugin &plugin) {
  const bool open = plugin.running != nullptr;
  close(plugin);
  pool::drain();
  if (open) log::note("%s: all doors closed", plugin.name);
  return 0;
}

int show(const Plugin &plugin, st_mysql_show_var &variable) {
  StatusPage page;
  if (plugin.running != nullptr) {
    DoorStatus status;
    plugin.running->doors().add_to(status);
    page.add(status);
    plugin.running->add_own(page, status.counters);
  }
  page.fill(variable);
  return 0;
}

}  // namespace

// The server calls functions that are told nothing of the plugin they are for.
#define DOOR(name, folder, prefix, sentence)                                                   \
  namespace name {                                                                             \
  namespace {                                                                                  \
  st_mysql_daemon descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};                               \
  Plugin own{#name, check_settings, make_running};                                             \
  int init(void *) {                                                                           \
    return plugin::init(own);                                                                  \
  }                                                                                            \
  int deinit(void *) {                                                                         \
    return plugin::deinit(own);                                                                \
  }                                                                                            \
  int show(MYSQL_THD, st_mysql_show_var *variable, char *) {                                   \
    return plugin::show(own, *variable);                                                       \
  }                                                                                            \
  st_mysql_show_var status_variables[] = {{prefix, reinterpret_cast<void *>(show), SHOW_FUNC}, \
                                          {nullptr, nullptr, SHOW_UNDEF}};                     \
  }                                                                                            \
  }
#include "doors.def"
#undef DOOR

}  // namespace postern::plugin

// The array begins in the macro. maria_declare_plugin_end would begin with a comma, with which a row ends here.
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
// clang-format off
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
// clang-format on
