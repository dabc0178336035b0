// doors.h: Doors, what one plugin of Postern has running while it is loaded.
//
// Owned by the plugin. Opened and closed by the server's threads that load and unload plugins, one at a time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "contract/executor.h"
#include "contract/session.h"
#include "door/door.h"
#include "engine/engine.h"
#include "net/tls_context.h"
#include "settings.h"
#include "status.h"

namespace postern::plugin {

std::string text(const char *value);

class Doors {
 public:
  /// `plugin` is the prefix of its settings. Both outlive this.
  Doors(const char *plugin, const ClientSettings &settings, engine::LoginNames names)
      : Doors(plugin, settings, &settings, names) {}
  /// Each client has a session of the server.
  Doors(const char *plugin, const DoorSettings &settings)
      : Doors(plugin, settings, nullptr, engine::LoginNames::meant) {}
  ~Doors();

  /// The resources that all doors share. False, with a line in the log, if TLS is required and cannot be had.
  [[nodiscard]] bool prepare();
  /// What every plugin has settings for; the rest is the plugin's.
  door::Options common() const;
  /// Completes `chosen` and returns whether there may be such a door; if not, the log says why. `asks`: whether clients
  /// have to log in.
  [[nodiscard]] bool check(door::Options &chosen, bool asks, const char *remedy) const;
  /// Opens a door, unless `chosen`, which was checked, has neither port nor socket. False, with a line in the log, if
  /// it cannot be opened. One thread at a time. `protocol` outlives this.
  [[nodiscard]] bool open(const door::Options &chosen, Protocol &protocol, Access access);

  /// Changes what may change of the doors for this, open or to be opened. Any thread, one at a time.
  void apply(Access access, const door::Options &chosen);
  bool has_tls() const { return tls_ != nullptr; }
  /// Ends a connection, or says whether it would.
  door::Ended end_connection(uint64_t id, bool only_look) const;

  /// Has the door for this take a connection that somebody else has accepted, if there is one: Door::take().
  bool take(Access access, int socket, bool local) const;

  Engine &engine() { return *engine_; }
  const Engine &engine() const { return *engine_; }
  /// Whether clients can connect to the door for this. Any thread.
  bool listening(Access access) const;
  /// Calls visit(door) for each that is open. Any thread; no door opens meanwhile.
  template <class Visit>
  void visit(Visit visit) const {
    const std::lock_guard guard(mutex_);
    for (const auto &door : doors_) visit(*door);
  }
  const char *plugin() const { return plugin_; }
  /// Adds up all doors. Any thread.
  void add_to(DoorStatus &status) const;

 private:
  Doors(const char *plugin, const DoorSettings &settings, const ClientSettings *clients, engine::LoginNames names);
  bool require_tls() const {
    return clients_ != nullptr && clients_->require_tls_choice == ClientSettings::RequireTls::ON;
  }
  bool fits(const door::Options &chosen) const;
  void share_buffers(uint64_t bytes);
  std::optional<net::Address> for_others(const door::Options &chosen) const;
  bool may_listen(const net::Address &address, const door::Options &chosen, const char *remedy) const;

  const char *const plugin_;
  const DoorSettings &settings_;
  const ClientSettings *const clients_;  // nullptr: the server's sessions have settings of their own
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<net::TlsContext> tls_;
  mutable std::mutex mutex_;  // guards what follows; held while a door is started
  std::vector<std::unique_ptr<door::Door>> doors_;
  uint64_t buffer_bytes_;      // that this plugin adds to what all share, once a door of it is open
  uint64_t shared_bytes_ = 0;  // that it has added
};

}  // namespace postern::plugin
