// loaded.h: Plugin, one plugin of this library, with the functions that the server calls.
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

/// Opens the plugin's doors; 1, with a line in the log, if that fails, or the plugin may not run here.
int init(Plugin &plugin);
int deinit(Plugin &plugin);
void apply_settings(const Plugin &plugin);
/// Whether a setting may be changed to one of its words. Sets the error if not.
bool may_set(const Plugin &plugin, const char *setting, const void *word);
/// The same for a door's address, port, socket and threads.
bool may_place(const Plugin &plugin, const char *setting, const std::string &value);
door::Ended end_connection(const Plugin &plugin, uint64_t id, bool only_look);
int show(const Plugin &plugin, StatusVariable &variable);

// Defined by the file that declares the plugins to the server.

/// Why no plugin of this library may run in this server; empty: they may.
std::string why_not_here(bool allows_other_build);
/// Called before a plugin is unloaded.
void note_gone();

/// The error log has the reason.
bool may_run(const char *plugin, bool allows_other_build);

}  // namespace postern::plugin
