// running.h: Running, one plugin while it is loaded, and the functions that each plugin gives to plugin.cc.
#pragma once

#include "server_plugin.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "doors.h"
#include "status.h"

namespace postern::plugin {

/// A container or a mapping, for INFORMATION_SCHEMA. Empty texts: none.
struct MappingNotes {
  std::string name;
  std::optional<uint64_t> database_number{};
  std::string kind;
  std::string database;
  std::string table;
  std::string index;
  std::string key_columns;
  std::string value_columns;
  std::string problem;  ///< error in the mapping's row, which makes it unusable
  std::string trouble;  ///< error of its table
};

/// A form of statement that a door knows, for INFORMATION_SCHEMA. Empty texts: unknown, or none.
struct PlanNotes {
  std::string form{};      ///< without the values that vary
  std::string used_in{};   ///< the database of the session that it was learnt from
  std::string kind{};      ///< of statement
  std::string database{};  ///< of its table
  std::string table{};
  std::string index{};   ///< the index that finds the rows
  std::string state{};   ///< served, learning, not served, retired
  std::string reason{};  ///< for one of the last two, or of the last statement left to the server
  uint64_t hits = 0;
  uint64_t left = 0;  ///< left to the server in spite of a plan
  uint64_t worker_runs = 0;
  uint64_t worker_us = 0;
  uint64_t server_runs = 0;
  uint64_t server_us = 0;
  int64_t seen_ms = 0;  ///< by wall_clock_ms()
};

/// Owned by plugin.cc. Made and destroyed by the server's threads that load and unload plugins, one at a time.
class Running {
 public:
  virtual ~Running() = default;

  /// Opens the doors by the settings, or arranges that they open later. False, with a line in the log, if a setting is
  /// invalid or a door cannot be opened.
  [[nodiscard]] virtual bool open() = 0;
  virtual const Doors &doors() const = 0;
  /// Applies changed settings. Called by threads that set them, one at a time.
  virtual void apply_settings() = 0;
  /// Its containers or mappings. Any thread.
  virtual void add_mappings(std::vector<MappingNotes> &) const {}
  /// The forms of statements that the door knows. Any thread.
  virtual void add_plans(std::vector<PlanNotes> &) const {}
  /// Resets their counts. Any thread.
  virtual void reset_plans() const {}
  /// Adds the status variables that no other plugin has; `counters` are the sums of all doors. Any thread.
  virtual void add_own(StatusPage &page, const Counters &counters) const = 0;
};

/// Calls `visit` for each plugin that has opened, while none is unloaded. Any thread.
void visit_running(const std::function<void(const Running &running)> &visit);

// Each plugin's file, <name>_plugin.cc, defines these.
#define DOOR(name, folder, prefix, sentence)                                                  \
  namespace name {                                                                            \
  extern SystemVariable *system_variables[];                                                  \
  /** To be called before the settings are used: whether all make sense; sets the choices. */ \
  [[nodiscard]] bool check_settings();                                                        \
  bool allows_other_build();                                                                  \
  /* The plugin is loaded: for what SET GLOBAL calls. */                                      \
  void apply_settings();                                                                      \
  bool may_set(const char *setting, const void *word);                                        \
  bool may_place(const char *setting, const std::string &value);                              \
  door::Ended may_end_connection(uint64_t id);                                                \
  void end_connection(uint64_t id);                                                           \
  std::unique_ptr<Running> make_running();                                                    \
  }
#include "doors.def"
#undef DOOR

}  // namespace postern::plugin
