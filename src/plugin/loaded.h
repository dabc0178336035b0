// loaded.h: Plugin, one plugin of this library as the server loads and unloads it, and what the server's calls for it
// do.
//
// Called by the server's threads that load and unload plugins, one at a time, and by those that set variables or show
// status.
#pragma once

#include "server_plugin.h"

#include <memory>
#include <string>

#include "running.h"

namespace postern::plugin {

struct Plugin {
  const char *name;
  bool (*check_settings)();
  bool (*allows_other_build)();
  std::unique_ptr<Running> (*make_running)();
  Running *running = nullptr;  // from init to deinit, but not while the server installs itself
};

/// Opens the plugin's doors; 1, with a line in the log, if they cannot be, or the plugin may not run here.
int init(Plugin &plugin);
int deinit(Plugin &plugin);
void apply_settings(const Plugin &plugin);
/// Whether a setting that has one of its words may be changed to that. The error is set if not.
bool may_set(const Plugin &plugin, const char *setting, const void *word);
/// The same for where a door listens, and with how many threads.
bool may_place(const Plugin &plugin, const char *setting, const std::string &value);
door::Ended end_connection(const Plugin &plugin, uint64_t id, bool only_look);
int show(const Plugin &plugin, StatusVariable &variable);

// By the file that declares the plugins to the server.

/// Why no plugin of this library may run in this server; empty: it may.
std::string why_not_here(bool allows_other_build);
/// Before a plugin goes.
void note_gone();

/// The error log says why not.
bool may_run(const char *plugin, bool allows_other_build);

}  // namespace postern::plugin
