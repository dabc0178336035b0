#include "doors.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/descriptors.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "engine/slow_log.h"
#include "net/address.h"

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

/// Clients get the file descriptors that the server cannot need. If that is hardly any, they get this part of all: the
/// server will not need everything at once.
constexpr uint32_t least_part = 8;
/// The doors' own threads may take this part of all.
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
}

Doors::~Doors() {
  for (const auto &door : doors_) door->stop();
  doors_.clear();
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
  if (clients_->tls != 0 && engine::server_tls().enabled) {
    tls_ = std::make_unique<net::TlsContext>(
        net::TlsContext::Source{.files = tls_files, .generation = engine::server_tls_generation});
    if (tls_->load(error)) return true;
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

/// A port without login shows every table to whoever reaches it. By default only this machine may.
bool Doors::may_listen(const net::Address &address, const door::Options &chosen, const char *remedy) const {
  if (clients_->allow_open_access) return true;
  log::error("%s port: refusing to listen on %s without %s, or %s_allow_open_access", chosen.name.c_str(),
             address.print().c_str(), remedy, plugin_);
  return false;
}

bool Doors::check(door::Options &chosen, bool asks, const char *remedy) const {
  if (const std::string mode = text(settings_.socket_mode); !parse_mode(mode, chosen.unix_mode)) {
    log::error("%s_socket_mode: '%s' is no octal number up to 0777", plugin_, mode.c_str());
    return false;
  }
  const std::optional<net::Address> others = for_others(chosen);
  if (!others) return true;
  if (!asks) return may_listen(*others, chosen, remedy);
  if (!require_tls())
    log::warning(
        "%s port: who logs in on %s without TLS shows its password to the network; %s_require_tls=ON refuses that",
        chosen.name.c_str(), others->print().c_str(), plugin_);
  return true;
}

/// Notes how many clients the file descriptors allow. False if there are too few for the door itself.
bool Doors::fits(const door::Options &chosen) const {
  const engine::Descriptors server = engine::server_descriptors();
  const uint32_t besides = descriptors::besides() + door::Door::descriptors_wanted(chosen);
  if (besides > server.all / doors_part) {
    log::error(
        "%s port: with this one all doors would take %u file descriptors for their threads, of %u that the "
        "server has (open_files_limit); give it fewer threads",
        chosen.name.c_str(), besides, server.all);
    return false;
  }
  const uint32_t clients = clients_for(server, besides);
  if (clients >= chosen.connections_max) return true;
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
  return true;
}

bool Doors::open(const door::Options &chosen, Protocol &protocol, Access access) {
  if (chosen.port == 0 && chosen.unix_path.empty() && !chosen.takes_others) return true;
  // add_to() waits until the door is started or gone.
  const std::lock_guard guard(mutex_);
  if (!fits(chosen)) return false;
  auto door = std::make_unique<door::Door>(chosen, protocol, *engine_, access);
  std::string error;
  if (door->start(error)) {
    doors_.push_back(std::move(door));
    share_buffers(buffer_bytes_);
    return true;
  }
  log::error("%s port: %s", chosen.name.c_str(), error.c_str());
  return false;
}

void Doors::apply(Access access, const door::Options &chosen) {
  const std::lock_guard guard(mutex_);
  for (const auto &door : doors_)
    if (door->access() == access) door->change(chosen);
  buffer_bytes_ = settings_.max_buffer_bytes;
  if (!doors_.empty()) share_buffers(buffer_bytes_);
}

door::Ended Doors::end_connection(uint64_t id, bool only_look) const {
  const std::lock_guard guard(mutex_);
  for (const auto &door : doors_) {
    const door::Ended ended = only_look ? door->roster().would_end(id) : door->roster().end(id);
    if (ended != door::Ended::unknown) return ended;
  }
  return door::Ended::unknown;
}

bool Doors::listening(Access access) const {
  const std::lock_guard guard(mutex_);
  return std::any_of(doors_.begin(), doors_.end(),
                     [access](const auto &door) { return door->access() == access && door->listening(); });
}

bool Doors::take(Access access, int socket, bool local) const {
  const std::lock_guard guard(mutex_);
  const auto found =
      std::find_if(doors_.begin(), doors_.end(), [access](const auto &door) { return door->access() == access; });
  return found != doors_.end() && (*found)->take(socket, local);
}

void Doors::add_to(DoorStatus &status) const {
  {
    const std::lock_guard guard(buffers.mutex);
    status.buffer_bytes_max = bound_of_buffers();
  }
  const std::lock_guard guard(mutex_);
  for (const auto &door : doors_) {
    door->add_counters(status.counters);
    door->add_latencies(status.latencies);
    status.threads += door->threads();
    status.connections += door->connections();
    status.connections_peak += door->connections_peak();
  }
}

}  // namespace postern::plugin
