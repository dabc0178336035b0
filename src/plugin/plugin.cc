// plugin.cc: what the server sees of Postern: one daemon plugin per protocol in one library.
#include <mysql/plugin.h>

#include <charconv>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/pool.h"
#include "door/door.h"
#include "engine/mariadb/engine.h"
#include "handlersocket/protocol.h"
#include "net/address.h"
#include "net/tls_context.h"
#include "settings.h"
#include "status.h"

namespace postern::plugin {
namespace {

/// Everything that lives while the plugin is loaded, in the order it is needed: a door uses the protocol and the
/// engine before it.
struct Running {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Protocol> read_protocol;
  std::unique_ptr<Protocol> write_protocol;
  std::unique_ptr<net::TlsContext> tls;
  std::unique_ptr<door::Door> read_door;
  std::unique_ptr<door::Door> write_door;
};
Running *running = nullptr;

void sum_status(Status &status) {
  if (running == nullptr) return;
  for (const door::Door *const door : {running->read_door.get(), running->write_door.get()}) {
    if (door == nullptr) continue;
    door->add_counters(status.counters);
    status.connections += door->connections();
    status.connections_peak += door->connections_peak();
  }
  status.buffer_bytes = pool::large_bytes();
}

/// In the order of handlersocket_auth's words.
enum class Authentication : unsigned long { none, secret, account };

Authentication authentication() {
  return static_cast<Authentication>(settings.auth);
}

std::string text(const char *value) {
  return value != nullptr ? value : "";
}

door::Settings door_settings(Access access) {
  const bool reads = access == Access::read;
  door::Settings chosen;
  chosen.name = reads ? "handlersocket read" : "handlersocket write";
  chosen.host = text(settings.address);
  chosen.port = static_cast<uint16_t>(reads ? settings.port : settings.port_wr);
  chosen.unix_path = text(reads ? settings.socket : settings.socket_wr);
  chosen.unix_owner = text(settings.socket_owner);
  chosen.tls = running->tls.get();
  chosen.require_tls = settings.require_tls != 0;
  chosen.backlog = static_cast<int>(settings.backlog);
  chosen.send_buffer = static_cast<int>(settings.sndbuf);
  chosen.receive_buffer = static_cast<int>(settings.rcvbuf);
  chosen.threads = static_cast<uint32_t>(reads ? settings.threads : settings.threads_wr);
  // While one writer waits for the disk another has the processor.
  chosen.threads_per_processor = reads ? 1 : 2;
  chosen.scan_threads = static_cast<uint32_t>(settings.scan_threads);
  chosen.login_threads = authentication() == Authentication::account ? limits::login_threads : 0;
  chosen.connections_max = static_cast<uint32_t>(settings.max_connections);
  chosen.idle_timeout_ms = static_cast<int64_t>(settings.timeout) * 1000;
  chosen.request_timeout_ms = static_cast<int64_t>(settings.request_timeout) * 1000;
  chosen.table_wait_ms = static_cast<int64_t>(settings.lock_wait_timeout) * 1000;
  return chosen;
}

handlersocket::Settings protocol_settings(Access access) {
  handlersocket::Settings chosen;
  chosen.access = access;
  chosen.accounts = authentication() == Authentication::account;
  if (authentication() == Authentication::secret)
    chosen.secret = text(access == Access::read ? settings.plain_secret : settings.plain_secret_wr);
  chosen.request_bytes_max = settings.max_request_bytes;
  chosen.open_indexes_max = static_cast<uint32_t>(settings.max_open_indexes);
  chosen.key_values_max = static_cast<uint32_t>(settings.max_key_values);
  chosen.errors = settings.errors == 0 ? handlersocket::ErrorStyle::compatible : handlersocket::ErrorStyle::text;
  return chosen;
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
  const mariadb::ServerTls server = mariadb::server_tls();
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

/// False if there is to be TLS and cannot be. That a server has no certificate is no reason to refuse its old clients.
bool prepare_tls() {
  std::string error = "the server has no certificate (ssl_cert, ssl_key)";
  if (settings.tls != 0 && mariadb::server_tls().enabled) {
    running->tls = std::make_unique<net::TlsContext>(
        net::TlsContext::Source{.files = tls_files, .generation = mariadb::server_tls_generation});
    if (running->tls->load(error)) return true;
    running->tls.reset();
    if (settings.require_tls == 0) log::warning("handlersocket: TLS is not offered: %s", error.c_str());
  }
  if (settings.require_tls == 0) return true;
  if (settings.tls == 0) error = "handlersocket_tls is OFF";
  log::error("handlersocket: handlersocket_require_tls is ON, but %s", error.c_str());
  return false;
}

/// Whoever can reach a port that asks for nothing reads every table; so nobody else's machine may reach it by default.
bool may_listen(const door::Settings &chosen, bool asks) {
  if (chosen.port == 0 || asks || settings.allow_open_access) return true;
  net::Address address;
  std::string error;
  if (!net::Address::parse(chosen.host, chosen.port, address, error) || address.is_loopback()) return true;
  log::error(
      "%s port: refusing to listen on %s without a secret or accounts; set one, handlersocket_auth, or "
      "handlersocket_allow_open_access",
      chosen.name.c_str(), address.print().c_str());
  return false;
}

bool open_door(Access access, std::unique_ptr<Protocol> &protocol, std::unique_ptr<door::Door> &door) {
  door::Settings chosen = door_settings(access);
  if (chosen.port == 0 && chosen.unix_path.empty()) return true;
  if (const std::string mode = text(settings.socket_mode); !parse_mode(mode, chosen.unix_mode)) {
    log::error("handlersocket_socket_mode: '%s' is no octal number up to 0777", mode.c_str());
    return false;
  }
  const handlersocket::Settings spoken = protocol_settings(access);
  if (!may_listen(chosen, spoken.accounts || !spoken.secret.empty())) return false;
  protocol = std::make_unique<handlersocket::HandlerSocket>(spoken);
  door = std::make_unique<door::Door>(chosen, *protocol, *running->engine, access);
  std::string error;
  if (!door->start(error)) {
    log::error("%s port: %s", chosen.name.c_str(), error.c_str());
    return false;
  }
  if (chosen.port != 0)
    log::note("%s port: listening on %s port %u%s", chosen.name.c_str(), chosen.host.c_str(), chosen.port,
              chosen.require_tls      ? ", with TLS only"
              : chosen.tls != nullptr ? ", with or without TLS"
                                      : "");
  if (!chosen.unix_path.empty()) log::note("%s socket: listening on %s", chosen.name.c_str(), chosen.unix_path.c_str());
  return true;
}

void close_doors() {
  if (running == nullptr) return;
  for (door::Door *const door : {running->read_door.get(), running->write_door.get()})
    if (door != nullptr) door->stop();
  delete std::exchange(running, nullptr);
}

int init(void *) {
  log::set_sink(mariadb::write_error_log);
  set_status_source(sum_status);
  if (mariadb::server_is_bootstrapping()) return 0;
  pool::set_large_bytes_max(settings.max_buffer_bytes);
  running = new Running;
  running->engine = mariadb::make_engine();
  if (prepare_tls() && open_door(Access::read, running->read_protocol, running->read_door) &&
      open_door(Access::write, running->write_protocol, running->write_door))
    return 0;
  close_doors();
  return 1;
}

int deinit(void *) {
  const bool open = running != nullptr;
  close_doors();
  pool::drain();
  if (open) log::note("handlersocket: all doors closed");
  return 0;
}

}  // namespace
}  // namespace postern::plugin

static st_mysql_daemon handlersocket_descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

maria_declare_plugin(postern){
    MYSQL_DAEMON_PLUGIN,
    &handlersocket_descriptor,
    "handlersocket",
    "Postern",
    "Reads and writes rows by key over the HandlerSocket protocol, past SQL",
    PLUGIN_LICENSE_GPL,
    postern::plugin::init,
    postern::plugin::deinit,
    0x0001,
    postern::plugin::status_variables,
    postern::plugin::system_variables,
    POSTERN_VERSION,
    MariaDB_PLUGIN_MATURITY_GAMMA,
} maria_declare_plugin_end;
