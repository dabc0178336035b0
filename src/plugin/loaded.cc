#include "loaded.h"

#include <cstring>
#include <new>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "live_settings.h"

namespace postern::plugin {
namespace {

/// Plugins with open doors, for visit_running().
struct {
  std::shared_mutex mutex;  // over those of a plugin's doors
  std::vector<const Running *> all;
} opened;

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

}  // namespace

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

// TLS cannot be required without a certificate. Other settings accept any of their words.
bool may_set(const Plugin &plugin, const char *setting, const void *word) {
  const bool asks_for_tls =
      strcmp(setting, "require_tls") == 0 && strcmp(*static_cast<const char *const *>(word), "ON") == 0;
  if (!asks_for_tls || plugin.running == nullptr || plugin.running->doors().has_tls()) return true;
  refuse_value((std::string(plugin.name) + "_" + setting).c_str(), "the server has no certificate, or TLS is off");
  return false;
}

// Where a door listens, and with how many threads.
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

int show(const Plugin &plugin, StatusVariable &variable) {
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

void visit_running(const std::function<void(const Running &running)> &visit) {
  const std::shared_lock guard(opened.mutex);
  for (const Running *const running : opened.all) visit(*running);
}

}  // namespace postern::plugin
