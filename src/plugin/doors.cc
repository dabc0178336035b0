#include "doors.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/descriptors.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "engine/slow_log.h"
#include "net/address.h"
#include "net/listener.h"

namespace postern::plugin {
namespace {

/// The bytes that all plugins with an open door may use together for large buffers.
struct {
  std::mutex mutex;  // a leaf
  uint64_t bytes_max = 0;
} buffers;

/// With the mutex held. Before any door is open, threads that look for mappings need buffers, too.
uint64_t bound_of_buffers() {
  return buffers.bytes_max != 0 ? buffers.bytes_max : limits::buffer_bytes_max;
}

/// Clients get the file descriptors that the server cannot need. If those are too few, clients get this fraction of
/// all: the server will not need everything at once.
constexpr uint32_t least_part = 8;
/// The doors' own threads may use this fraction of all.
constexpr uint32_t doors_part = 4;

uint32_t clients_for(const engine::Descriptors &server, uint32_t besides) {
  const uint64_t taken = uint64_t{server.for_server} + besides;
  const uint32_t left = taken < server.all ? server.all - static_cast<uint32_t>(taken) : 0;
  return std::max(left, server.all / least_part);
}

uint32_t clients_bound(uint32_t besides) {
  return clients_for(engine::server_descriptors(), besides);
}

/// Permissions as chmod(1) takes them.
bool parse_mode(const std::string &octal, mode_t &mode) {
  unsigned number = 0;
  const char *const end = octal.data() + octal.size();
  const auto [parsed, problem] = std::from_chars(octal.data(), end, number, 8);
  mode = number;
  return problem == std::errc{} && parsed == end && number <= 0777;
}

net::TlsFiles tls_files() {
  const engine::ServerTls server = engine::server_tls();
  return {.certificate = server.certificate,
          .key = server.key,
          .ca = server.ca,
          .ca_path = server.ca_path,
          .crl = server.crl,
          .crl_path = server.crl_path,
          .ciphers = server.ciphers,
          .version_1_2 = server.version_1_2,
          .version_1_3 = server.version_1_3};
}

/// Whether a door with these options would open.
bool opens(const door::Options &chosen) {
  return chosen.port != 0 || !chosen.unix_path.empty() || chosen.takes_others;
}

bool same_place(const door::Options &one, const door::Options &other) {
  return one.host == other.host && one.port == other.port && one.unix_path == other.unix_path &&
         one.threads == other.threads;
}

/// Whether both cannot listen at once.
bool overlap(const door::Options &one, const door::Options &other) {
  return (one.port != 0 && one.port == other.port) || (!one.unix_path.empty() && one.unix_path == other.unix_path);
}

}  // namespace

std::string text(const char *value) {
  return value != nullptr ? value : "";
}

Doors::Doors(const char *plugin, const DoorSettings &settings, const ClientSettings *clients, engine::LoginNames names)
    : plugin_(plugin),
      settings_(settings),
      clients_(clients),
      engine_(engine::make_engine(names)),
      buffer_bytes_(settings.max_buffer_bytes) {
  descriptors::set_bound(clients_bound);
  door::Thread::want_stack(engine::stack_bytes());
}

Doors::~Doors() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
    for (const Place &place : places_)
      if (place.leaving != nullptr) place.leaving->spare_caller();
  }
  mover_.join();
  for (const Place &place : places_)
    if (place.door != nullptr) place.door->stop();
  places_.clear();
  share_buffers(0);
}

/// This plugin adds so many bytes to the bound from now on.
void Doors::share_buffers(uint64_t bytes) {
  const std::lock_guard guard(buffers.mutex);
  buffers.bytes_max += bytes - shared_bytes_;
  shared_bytes_ = bytes;
  pool::set_large_bytes_max(bound_of_buffers());
}

/// False if TLS is required and cannot be offered. Without a certificate clients are served in the clear as before.
bool Doors::prepare() {
  if (clients_ == nullptr) return true;
  std::string error = "the server has no certificate (ssl_cert, ssl_key)";
  const engine::ServerTls server = engine::server_tls();
  if (clients_->tls != 0 && (server.enabled || server.later)) {
    tls_ = std::make_unique<net::TlsContext>(
        net::TlsContext::Source{.files = tls_files, .generation = engine::server_tls_generation});
    // If the server reads its certificates later, doors load them before the first client.
    if (server.later || tls_->load(error)) return true;
    tls_.reset();
    if (!require_tls()) log::warning("%s: TLS is not offered: %s", plugin_, error.c_str());
  }
  if (!require_tls()) return true;
  if (clients_->tls == 0) error = std::string(plugin_) + "_tls is OFF";
  log::error("%s: %s_require_tls is ON, but %s", plugin_, plugin_, error.c_str());
  return false;
}

door::Options Doors::common() const {
  door::Options chosen;
  chosen.unix_owner = text(settings_.socket_owner);
  chosen.backlog = static_cast<int>(settings_.backlog);
  chosen.send_buffer = static_cast<int>(settings_.sndbuf);
  chosen.receive_buffer = static_cast<int>(settings_.rcvbuf);
  chosen.connections_max = static_cast<uint32_t>(settings_.max_connections);
  if (clients_ == nullptr) {
    chosen.idle_timeout_ms = 0;
    chosen.request_timeout_ms = 0;
    return chosen;
  }
  chosen.tls = tls_.get();
  chosen.require_tls = require_tls();
  chosen.scan_threads = static_cast<uint32_t>(clients_->scan_threads);
  chosen.idle_timeout_ms = static_cast<int64_t>(clients_->timeout) * 1000;
  chosen.request_timeout_ms = static_cast<int64_t>(clients_->request_timeout) * 1000;
  chosen.table_wait_ms = static_cast<int64_t>(clients_->lock_wait_timeout) * 1000;
  chosen.slow_request_us = static_cast<int64_t>(clients_->slow_request_us);
  chosen.tell_slow = engine::write_slow_log;
  return chosen;
}

/// Where other machines reach the port; nullopt if they cannot, or if this is not the door's to judge.
std::optional<net::Address> Doors::for_others(const door::Options &chosen) const {
  net::Address address;
  std::string error;
  if (chosen.port == 0 || clients_ == nullptr || !net::Address::parse(chosen.host, chosen.port, address, error) ||
      address.is_loopback())
    return std::nullopt;
  return address;
}

/// Completes its options. Empty, or why there may be no such door.
std::string Doors::problem_of(Site &site) const {
  if (const std::string mode = text(settings_.socket_mode); !parse_mode(mode, site.options.unix_mode))
    return std::string(plugin_) + "_socket_mode: '" + mode + "' is no octal number up to 0777";
  if (site.options.login_threads != 0 && !engine::knows_accounts())
    return std::string(plugin_) + "_auth is account, and Postern cannot check accounts of this server yet: use " +
           "another value";
  const std::optional<net::Address> others = for_others(site.options);
  // A port without login shows every table to all clients that can reach it. By default only this machine can.
  if (others && !site.asks && !clients_->allow_open_access)
    return site.options.name + " port: refusing to listen on " + others->print() + " without " + site.remedy + ", or " +
           plugin_ + "_allow_open_access";
  return {};
}

bool Doors::check(Site &site) const {
  if (const std::string problem = problem_of(site); !problem.empty()) {
    log::error("%s", problem.c_str());
    return false;
  }
  if (const std::optional<net::Address> others = for_others(site.options); others && site.asks && !require_tls())
    log::warning(
        "%s port: who logs in on %s without TLS shows its password to the network; %s_require_tls=ON refuses that",
        site.options.name.c_str(), others->print().c_str(), plugin_);
  return true;
}

/// Empty, or why there are too few file descriptors for the door itself.
std::string Doors::problem_of_size(const door::Options &chosen) const {
  const engine::Descriptors server = engine::server_descriptors();
  const uint32_t besides = descriptors::besides() + door::Door::descriptors_wanted(chosen);
  if (besides <= server.all / doors_part) return {};
  return "with this one all doors would take " + std::to_string(besides) + " file descriptors for their threads, of " +
         std::to_string(server.all) + " that the server has (open_files_limit); give it fewer threads";
}

/// Logs how many clients the file descriptors allow.
void Doors::note_clients(const door::Options &chosen) const {
  const engine::Descriptors server = engine::server_descriptors();
  const uint32_t clients = clients_for(server, descriptors::besides() + door::Door::descriptors_wanted(chosen));
  if (clients >= chosen.connections_max) return;
  if (clients > server.all / least_part) {
    log::note(
        "%s port: %s_max_connections is %u, but all doors together get %u clients: of %u file descriptors "
        "(open_files_limit) %u are for the server",
        chosen.name.c_str(), plugin_, uint32_t{chosen.connections_max}, clients, server.all, server.for_server);
  } else {
    log::warning(
        "%s port: open_files_limit is %u, of which max_connections, table_open_cache and the server's own files "
        "leave next to nothing: all doors together get %u clients, and those may be missed elsewhere",
        chosen.name.c_str(), server.all, clients);
  }
}

bool Doors::open(Site site) {
  if (!check(site)) return false;
  // add_to() waits until the door is started or gone.
  const std::lock_guard guard(mutex_);
  Place &place = places_.emplace_back();
  place.site = std::move(site);
  std::string error;
  if (open_place(place, error)) {
    if (place.door == nullptr)
      log::note("%s: closed; %s", place.site.options.name.c_str(), notes(place).remedy.c_str());
    return true;
  }
  log::error("%s port: %s", place.site.options.name.c_str(), error.c_str());
  return false;
}

bool Doors::expect(Site site, std::string waits_for, std::string remedy) {
  if (!check(site)) return false;
  const std::lock_guard guard(mutex_);
  Place &place = places_.emplace_back();
  place.site = std::move(site);
  place.waits_for = std::move(waits_for);
  place.remedy = std::move(remedy);
  const DoorNotes now = notes(place);
  log::note("%s: closed, %s; %s", plugin_, now.reason.c_str(), now.remedy.c_str());
  return true;
}

void Doors::open_waiting() {
  const std::lock_guard guard(mutex_);
  for (Place &place : places_) {
    if (std::exchange(place.waits_for, {}).empty() || open_place(place, place.trouble)) continue;
    log::error("%s port: %s", place.site.options.name.c_str(), place.trouble.c_str());
  }
}

/// With the mutex held. True where there is nothing to open.
bool Doors::open_place(Place &place, std::string &error) {
  const door::Options &chosen = place.site.options;
  if (!opens(chosen)) return true;
  error = problem_of(place.site);
  if (error.empty()) error = problem_of_size(chosen);
  if (!error.empty()) return false;
  note_clients(chosen);
  auto door = std::make_unique<door::Door>(chosen, *place.site.protocol, *engine_, place.site.access);
  if (!door->start(error)) return false;
  place.door = std::move(door);
  share_buffers(buffer_bytes_);
  return true;
}

void Doors::apply(Access access, const door::Options &chosen) {
  const std::lock_guard guard(mutex_);
  for (Place &place : places_) {
    if (place.site.access != access) continue;
    if (place.door != nullptr) place.door->change(chosen);
    if (same_place(place.site.options, chosen)) {
      place.site.options.take_changes(chosen);
      continue;
    }
    place.site.options = chosen;
    place.trouble = problem_of(place.site);
    place.settled = !place.trouble.empty();
  }
  buffer_bytes_ = settings_.max_buffer_bytes;
  if (shared_bytes_ != 0) share_buffers(buffer_bytes_);
  const bool unsettled = std::ranges::any_of(places_, [](const Place &place) { return !place.settled; });
  if (moving_ || !unsettled) return;
  mover_.join();  // it has ended, or is about to, without taking a lock
  moving_ = mover_.start([](void *self) { static_cast<Doors *>(self)->move(); }, this, std::string(plugin_) + " move");
  if (!moving_) log::error("%s: no thread to move a door with: %s", plugin_, std::strerror(errno));
}

void Doors::move() {
  try {
    while (move_one()) continue;
  } catch (const std::bad_alloc &) {
    const std::lock_guard guard(mutex_);
    moving_ = false;
    log::error("%s: out of memory; a door is not where the settings have it", plugin_);
  }
  pool::drain();
}

/// False: nothing is left to be moved.
bool Doors::move_one() {
  std::unique_lock guard(mutex_);
  const auto place = std::ranges::find_if(places_, [](const Place &one) { return !one.settled; });
  moving_ = !closing_ && place != places_.end();
  if (!moving_) return false;
  place->settled = true;
  // A waiting door opens by the settings of that time.
  if (!place->waits_for.empty()) return true;
  place->trouble.clear();
  std::unique_ptr<door::Door> old = std::move(place->door);
  reopen(*place, std::move(old), guard);
  if (!place->trouble.empty()) log::error("%s port: %s", place->site.options.name.c_str(), place->trouble.c_str());
  return true;
}

/// Opens the door at its new place, and closes `old`, in the order with the shorter gap. If it cannot be opened the old
/// one stays.
void Doors::reopen(Place &place, std::unique_ptr<door::Door> old, std::unique_lock<std::mutex> &guard) {
  if (old == nullptr || !overlap(old->options(), place.site.options)) {
    if (open_place(place, place.trouble)) end(place, std::move(old), guard);
    else place.door = std::move(old);
    return;
  }
  const door::Options before = old->options();
  end(place, std::move(old), guard);
  if (open_place(place, place.trouble)) return;
  std::string again;
  Site site = place.site;
  std::swap(place.site.options, site.options);
  place.site.options = before;
  (void)open_place(place, again);
  place.site.options = site.options;
}

/// Stops a door with the mutex released: its workers may wait for a thread that waits for the mutex.
void Doors::end(Place &place, std::unique_ptr<door::Door> door, std::unique_lock<std::mutex> &guard) {
  if (door == nullptr) return;
  place.leaving = std::move(door);
  guard.unlock();
  place.leaving->stop();
  guard.lock();
  place.leaving->add_counters(place.past);
  log::note("%s: no longer at %s port %u", place.leaving->options().name.c_str(), place.leaving->options().host.c_str(),
            place.leaving->port());
  place.leaving.reset();
  if (std::ranges::none_of(places_, [](const Place &one) { return one.door != nullptr; })) share_buffers(0);
}

std::string Doors::problem_with(const std::string &setting, const std::string &value) const {
  const std::lock_guard guard(mutex_);
  for (const Place &place : places_) {
    door::Options chosen = place.site.options;
    const std::string suffix = place.site.suffix;
    if (setting == "address") chosen.host = value;
    else if (setting == "port" + suffix) chosen.port = static_cast<uint16_t>(std::stoul(value));
    else if (setting == "socket" + suffix) chosen.unix_path = value;
    else if (setting == "threads" + suffix) chosen.threads = static_cast<uint32_t>(std::stoul(value));
    else continue;
    if (std::string problem = problem_of_place(place, chosen); !problem.empty()) return problem;
  }
  return {};
}

/// With the mutex held. Tries whether it could listen at its new place, unless it listens there itself.
std::string Doors::problem_of_place(const Place &place, const door::Options &chosen) const {
  Site site = place.site;
  site.options = chosen;
  if (std::string problem = problem_of(site); !problem.empty()) return problem;
  if (std::string problem = problem_of_size(chosen); !problem.empty()) return problem;
  std::string error;
  net::Address address;
  const door::Options none;
  const door::Options &now = place.door != nullptr ? place.door->options() : none;
  if (chosen.port != 0) {
    // Its own port cannot be tried, but whether the machine has the address can.
    const uint16_t tried = chosen.port != now.port ? chosen.port : 0;
    if (!net::Address::parse(chosen.host, tried, address, error)) return error;
    if (net::Listener trial; !trial.bind(address, {}, error)) return error;
  }
  if (!chosen.unix_path.empty()) {
    if (!net::Address::parse_unix(chosen.unix_path, address, error)) return error;
    if (net::Listener trial; chosen.unix_path != now.unix_path && !trial.bind(address, {}, error)) return error;
  }
  return {};
}

door::Options Doors::options(Access access) const {
  const std::lock_guard guard(mutex_);
  const auto place = std::ranges::find_if(places_, [&](const Place &one) { return one.site.access == access; });
  return place != places_.end() ? place->site.options : door::Options();
}

/// With the mutex held.
DoorNotes Doors::notes(const Place &place) const {
  const Site &site = place.site;
  DoorNotes now{.site = site, .door = place.door.get(), .waits = false, .reason = place.trouble, .remedy = {}};
  if (place.door != nullptr) return now;
  if (!opens(site.options)) {
    now.reason = "it has neither port nor socket";
    now.remedy = std::string("SET GLOBAL ") + plugin_ + "_port" + site.suffix + " = " +
                 std::to_string(site.usual_port) + " opens it, and " + plugin_ + "_port" + site.suffix +
                 " in an option file";
  } else if (!place.waits_for.empty()) {
    now.waits = true;
    now.reason = place.waits_for;
    now.remedy = place.remedy;
  }
  return now;
}

door::Ended Doors::end_connection(uint64_t id, bool only_look) const {
  const std::lock_guard guard(mutex_);
  for (const Place &place : places_) {
    if (place.door == nullptr) continue;
    door::Roster &roster = place.door->roster();
    const door::Ended ended = only_look ? roster.would_end(id) : roster.end(id);
    if (ended != door::Ended::unknown) return ended;
  }
  return door::Ended::unknown;
}

bool Doors::listening(Access access) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(places_, [access](const Place &place) {
    return place.site.access == access && place.door != nullptr && place.door->listening();
  });
}

bool Doors::take(Access access, int socket, bool local) const {
  const std::lock_guard guard(mutex_);
  const auto found =
      std::ranges::find_if(places_, [access](const Place &place) { return place.site.access == access; });
  return found != places_.end() && found->door != nullptr && found->door->take(socket, local);
}

void Doors::add_to(DoorStatus &status) const {
  {
    const std::lock_guard guard(buffers.mutex);
    status.buffer_bytes_max = bound_of_buffers();
  }
  const std::lock_guard guard(mutex_);
  for (const Place &place : places_) {
    status.counters.absorb(place.past);
    if (place.leaving != nullptr) place.leaving->add_counters(status.counters);
    const door::Door *const door = place.door.get();
    if (door == nullptr) continue;
    door->add_counters(status.counters);
    door->add_latencies(status.latencies);
    const auto [in_place, moved] = door->figures();
    status.statements_in_place += in_place;
    status.loops_moved += moved;
    status.threads += door->threads();
    status.connections += door->connections();
    status.connections_peak += door->connections_peak();
  }
}

}  // namespace postern::plugin
