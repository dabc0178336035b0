// plugin.cc: Postern as the server loads it: one daemon plugin per row of doors.def, in one library.
#include <mysql/plugin.h>

#include <cstring>
#include <new>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/pool.h"
#include "door/connections/thread.h"
#include "engine/engine.h"
#include "information_tables.h"
#include "library.h"
#include "live_settings.h"
#include "running.h"

namespace postern::plugin {
namespace {

/// Made when the library is loaded, which is before the server looks at its version.
const struct AtLoading {
  AtLoading() {
    library::keep_data();
    engine::tell_if_refused(MYSQL_SERVER_VERSION);
  }
} at_loading;

/// Those that have opened, for visit_running().
struct {
  std::shared_mutex mutex;  // over those of a plugin's doors
  std::vector<const Running *> all;
} opened;

struct Plugin {
  const char *name;
  bool (*check_settings)();
  bool (*allows_other_build)();
  std::unique_ptr<Running> (*make_running)();
  Running *running = nullptr;  // from init to deinit, but not while the server installs itself
};

void close(Plugin &plugin) {
  {
    const std::lock_guard guard(opened.mutex);
    std::erase(opened.all, plugin.running);
  }
  delete std::exchange(plugin.running, nullptr);
}

void note_opened(const Running &running) {
  const std::lock_guard guard(opened.mutex);
  opened.all.push_back(&running);
}

/// A plugin has gone since the library was loaded.
bool one_has_gone = false;
/// A door has been allowed in a server that others have built: so are the tables that show it.
bool other_build_allowed = false;

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
  return {};
}

/// The error log says why not.
bool may_run(const char *plugin, bool allows_other_build) {
  const std::string why_not = why_not_here(allows_other_build);
  if (!why_not.empty()) log::error("%s: refusing to run here: %s", plugin, why_not.c_str());
  return why_not.empty();
}

int init(Plugin &plugin) {
  log::set_sink(engine::write_error_log);
  if (engine::server_is_bootstrapping()) return 0;
  const bool allows = plugin.allows_other_build();
  if (!may_run(plugin.name, allows)) return 1;
  other_build_allowed = other_build_allowed || allows;
  if (!plugin.check_settings()) return 1;
  try {
    plugin.running = plugin.make_running().release();
    if (plugin.running->open()) {
      note_opened(*plugin.running);
      return 0;
    }
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", plugin.name);
  }
  close(plugin);
  return 1;
}

void note_gone() {
  one_has_gone = true;
  // UNINSTALL may come through a door.
  if (door::Thread::is_caller()) library::stay();
}

int deinit(Plugin &plugin) {
  const bool open = plugin.running != nullptr;
  note_gone();
  close(plugin);
  pool::drain();
  if (open) log::note("%s: all doors closed", plugin.name);
  return 0;
}

void apply_settings(const Plugin &plugin) {
  if (plugin.running == nullptr) return;
  try {
    plugin.running->apply_settings();
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory; a setting has no effect", plugin.name);
  }
}

/// TLS cannot be required where there is none. Other settings may have any of their words.
bool may_set(const Plugin &plugin, const char *setting, const void *word) {
  const bool asks_for_tls =
      strcmp(setting, "require_tls") == 0 && strcmp(*static_cast<const char *const *>(word), "ON") == 0;
  if (!asks_for_tls || plugin.running == nullptr || plugin.running->doors().has_tls()) return true;
  refuse_value((std::string(plugin.name) + "_" + setting).c_str(), "the server has no certificate, or TLS is off");
  return false;
}

/// Where a door listens, and with how many threads.
bool may_place(const Plugin &plugin, const char *setting, const std::string &value) {
  if (plugin.running == nullptr) return true;
  std::string problem;
  try {
    problem = plugin.running->doors().problem_with(setting, value);
  } catch (const std::bad_alloc &) {
    problem = "out of memory";
  }
  if (problem.empty()) return true;
  refuse_value((std::string(plugin.name) + "_" + setting).c_str(), problem.c_str());
  return false;
}

door::Ended end_connection(const Plugin &plugin, uint64_t id, bool only_look) {
  return plugin.running != nullptr ? plugin.running->doors().end_connection(id, only_look) : door::Ended::unknown;
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

bool init_table(const char *name, void *given, const engine::InformationTable &table) {
  log::set_sink(engine::write_error_log);
  return may_run(name, other_build_allowed) && engine::set_information_table(given, table);
}

}  // namespace

void visit_running(const std::function<void(const Running &running)> &visit) {
  const std::shared_lock guard(opened.mutex);
  for (const Running *const running : opened.all) visit(*running);
}

// The server calls functions without naming the plugin they are for.
#define DOOR(name, folder, prefix, sentence)                                                   \
  namespace name {                                                                             \
  namespace {                                                                                  \
  st_mysql_daemon descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};                               \
  Plugin own{#name, check_settings, allows_other_build, make_running};                         \
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
  void apply_settings() {                                                                      \
    plugin::apply_settings(own);                                                               \
  }                                                                                            \
  bool may_set(const char *setting, const void *word) {                                        \
    return plugin::may_set(own, setting, word);                                                \
  }                                                                                            \
  bool may_place(const char *setting, const std::string &value) {                              \
    return plugin::may_place(own, setting, value);                                             \
  }                                                                                            \
  door::Ended may_end_connection(uint64_t id) {                                                \
    return plugin::end_connection(own, id, true);                                              \
  }                                                                                            \
  void end_connection(uint64_t id) {                                                           \
    (void)plugin::end_connection(own, id, false);                                              \
  }                                                                                            \
  }
#include "doors.def"
#undef DOOR

}  // namespace postern::plugin

// A table of INFORMATION_SCHEMA is a plugin, too.
#define COLUMN(of, column, kind, characters, sentence)
#define TABLE(its, named, sentence)                                                      \
  namespace postern::plugin::information::its {                                          \
  namespace {                                                                            \
  st_mysql_information_schema descriptor = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION}; \
  int init(void *given) {                                                                \
    return init_table(named, given, table) ? 0 : 1;                                      \
  }                                                                                      \
  int deinit(void *) {                                                                   \
    note_gone();                                                                         \
    engine::forget_information_table(table);                                             \
    return 0;                                                                            \
  }                                                                                      \
  }                                                                                      \
  }
#include "information.def"
#undef TABLE

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
