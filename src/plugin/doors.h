// doors.h: Doors, the doors of one plugin while it is loaded, open or closed.
//
// Owned by the plugin. Opened and closed by the server's threads that load and unload plugins, one at a time, and by a
// thread of its own when SET GLOBAL moves one.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "contract/executor.h"
#include "contract/session.h"
#include "door/door.h"
#include "door/connections/thread.h"
#include "engine/engine.h"
#include "net/tls_context.h"
#include "settings.h"
#include "status.h"

namespace postern::plugin {

std::string text(const char *value);

/// The place of a door that a plugin may open.
struct Site {
  door::Options options;         ///< by the present settings
  Protocol *protocol = nullptr;  ///< outlives the Doors
  Access access = Access::read;
  const char *suffix = "";  ///< its settings are <plugin>_port<suffix>, and so on
  uint16_t usual_port = 0;  ///< for people
  bool asks = false;        ///< whether clients have to log in or send a secret
  const char *remedy = "";  ///< what makes them, for people
};

/// A door, for INFORMATION_SCHEMA.
struct DoorNotes {
  const Site &site;
  const door::Door *door;  ///< nullptr: closed
  bool waits;              ///< for its tables
  std::string reason;      ///< why it is closed, or not where the settings want it; empty: it is there
  std::string remedy;      ///< how to open it, if known
};

class Doors {
 public:
  /// `plugin` is the prefix of its settings. Both outlive this.
  Doors(const char *plugin, const ClientSettings &settings, engine::LoginNames names)
      : Doors(plugin, settings, &settings, names) {}
  /// Each client has a session of the server.
  Doors(const char *plugin, const DoorSettings &settings)
      : Doors(plugin, settings, nullptr, engine::LoginNames::meant) {}
  ~Doors();

  /// Prepares resources that all doors share. False, with a line in the log, if TLS is required and not available.
  [[nodiscard]] bool prepare();
  /// The options with settings in every plugin; the plugin adds the rest.
  door::Options common() const;
  /// The same for a door, with its name and place in the plugin's own settings.
  template <class Settings>
  door::Options common(const char *name, const Settings &settings) const {
    door::Options chosen = common();
    chosen.name = name;
    chosen.host = text(settings.address);
    chosen.port = static_cast<uint16_t>(settings.port);
    chosen.unix_path = text(settings.socket);
    chosen.threads = static_cast<uint32_t>(settings.threads);
    return chosen;
  }
  /// Opens a door, or notes that it is closed without port and socket. False, with a line in the log, if it may not or
  /// cannot be opened. One thread at a time.
  [[nodiscard]] bool open(Site site);
  /// Notes a door that open_waiting() opens once its tables exist. `waits_for` names them for messages, `remedy` how to
  /// make them. False, with a line in the log, if such a door is not allowed.
  [[nodiscard]] bool expect(Site site, std::string waits_for, std::string remedy);
  /// Opens the waiting door, unless it has neither port nor socket now. Any thread.
  void open_waiting();

  /// Applies the settings of the door for this. A thread of its own moves the door, soon, if its place or its number of
  /// threads has changed. Called by threads that set them, one at a time, under the server's lock of all global
  /// variables.
  void apply(Access access, const door::Options &chosen);
  /// Why the plugin's setting may not become `value`, a text or a number: for example a port in use. Empty: it may.
  std::string problem_with(const std::string &setting, const std::string &value) const;
  bool has_tls() const { return tls_ != nullptr; }
  /// Ends a connection, or returns whether it could.
  door::Ended end_connection(uint64_t id, bool only_look) const;

  /// Passes a connection that the server has accepted to the door, if there is one: Door::take().
  bool take(Access access, int socket, bool local) const;

  Engine &engine() { return *engine_; }
  const Engine &engine() const { return *engine_; }
  /// Whether clients can connect to the door for this. Any thread.
  bool listening(Access access) const;
  /// Calls visit(door) for each that is open. Any thread; no door opens or closes meanwhile.
  template <class Visit>
  void visit(Visit visit) const {
    const std::lock_guard guard(mutex_);
    for (const Place &place : places_)
      if (place.door != nullptr) visit(*place.door);
  }
  /// Calls visit(DoorNotes) for all.
  template <class Visit>
  void visit_all(Visit visit) const {
    const std::lock_guard guard(mutex_);
    for (const Place &place : places_) visit(notes(place));
  }
  /// The door's options by the present settings. Any thread.
  door::Options options(Access access) const;
  const char *plugin() const { return plugin_; }
  /// Adds up all doors. Any thread.
  void add_to(DoorStatus &status) const;

 private:
  /// One door.
  struct Place {
    Site site;
    std::string waits_for;  // not empty: open_waiting() was not called yet
    std::string remedy;     // for that
    std::string trouble;    // why it differs from the settings
    bool settled = true;    // nothing is left to do, or a try has failed
    Counters past;          // of doors that were closed since
    std::unique_ptr<door::Door> door;
    std::unique_ptr<door::Door> leaving;  // it is being stopped
  };

  Doors(const char *plugin, const DoorSettings &settings, const ClientSettings *clients, engine::LoginNames names);
  bool require_tls() const {
    return clients_ != nullptr && clients_->require_tls_choice == ClientSettings::RequireTls::ON;
  }
  std::string problem_of(Site &site) const;
  std::string problem_of_size(const door::Options &chosen) const;
  std::string problem_of_place(const Place &place, const door::Options &chosen) const;
  bool check(Site &site) const;
  void note_clients(const door::Options &chosen) const;
  DoorNotes notes(const Place &place) const;
  bool open_place(Place &place, std::string &error);
  void move();
  bool move_one();
  void reopen(Place &place, std::unique_ptr<door::Door> old, std::unique_lock<std::mutex> &guard);
  void end(Place &place, std::unique_ptr<door::Door> door, std::unique_lock<std::mutex> &guard);
  void share_buffers(uint64_t bytes);
  std::optional<net::Address> for_others(const door::Options &chosen) const;

  const char *const plugin_;
  const DoorSettings &settings_;
  const ClientSettings *const clients_;  // nullptr: the server's sessions have settings of their own
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<net::TlsContext> tls_;
  mutable std::mutex mutex_;   // guards the members below; held while a door is started, but not while one is stopped
  std::list<Place> places_;    // stays once the plugin has opened
  uint64_t buffer_bytes_;      // bytes that this plugin adds to the shared bound once one of its doors is open
  uint64_t shared_bytes_ = 0;  // bytes that it has added
  bool moving_ = false;        // the mover is running, and checks again before it ends
  bool closing_ = false;
  door::Thread mover_;
};

}  // namespace postern::plugin
