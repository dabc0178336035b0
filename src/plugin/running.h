// running.h: Running, what one plugin has while it is loaded, and what each plugin gives to plugin.cc.
#pragma once

#include <memory>

#include "base/counters.h"
#include "doors.h"
#include "status.h"

struct st_mysql_sys_var;

namespace postern::plugin {

/// Owned by plugin.cc. Made and destroyed by the server's threads that load and unload plugins, one at a time.
class Running {
 public:
  virtual ~Running() = default;

  /// Opens the doors that the settings ask for, or has them opened later. False, with a line in the log, if a setting
  /// is wrong or a door cannot be opened.
  [[nodiscard]] virtual bool open() = 0;
  virtual const Doors &doors() const = 0;
  /// Adds the status variables that no other plugin has; `counters` are the sums of all doors. Any thread.
  virtual void add_own(StatusPage &page, const Counters &counters) const = 0;
};

// Each plugin's file, <name>_plugin.cc, defines these.
#define DOOR(name, folder, prefix, sentence)                                                  \
  namespace name {                                                                            \
  extern st_mysql_sys_var *system_variables[];                                                \
  /** To be called before the settings are used: whether all make sense; sets the choices. */ \
  [[nodiscard]] bool check_settings();                                                        \
  std::unique_ptr<Running> make_running();                                                    \
  }
#include "doors.def"
#undef DOOR

}  // namespace postern::plugin
