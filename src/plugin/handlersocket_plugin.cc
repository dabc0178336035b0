// handlersocket_plugin.cc: the plugin `handlersocket`: a port for reading and one for writing.
#include <mysql/plugin.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/pool.h"
#include "doors.h"
#include "engine/mariadb/engine.h"
#include "handlersocket/protocol.h"
#include "plugins.h"
#include "settings.h"
#include "status.h"

namespace postern::plugin::handlersocket {
namespace {

namespace protocol = postern::handlersocket;

/// In the order it is needed.
struct Running {
  std::unique_ptr<protocol::HandlerSocket> protocols[2];  // of the port for reading, of the one for writing
  Doors doors{"handlersocket", settings, mariadb::LoginNames::meant};
};
Running *running = nullptr;

/// In the order of handlersocket_auth's words.
enum class Authentication : unsigned { none, secret, account };

Authentication authentication() {
  return static_cast<Authentication>(settings.auth_choice);
}

door::Settings door_settings(Access access) {
  const bool reads = access == Access::read;
  door::Settings chosen = running->doors.common();
  chosen.name = reads ? "handlersocket read" : "handlersocket write";
  chosen.host = text(settings.address);
  chosen.port = static_cast<uint16_t>(reads ? settings.port : settings.port_wr);
  chosen.unix_path = text(reads ? settings.socket : settings.socket_wr);
  chosen.threads = static_cast<uint32_t>(reads ? settings.threads : settings.threads_wr);
  chosen.login_threads = authentication() == Authentication::account ? limits::login_threads : 0;
  return chosen;
}

protocol::Settings protocol_settings(Access access) {
  protocol::Settings chosen;
  chosen.access = access;
  chosen.accounts = authentication() == Authentication::account;
  if (authentication() == Authentication::secret)
    chosen.secret = text(access == Access::read ? settings.plain_secret : settings.plain_secret_wr);
  chosen.request_bytes_max = settings.max_request_bytes;
  chosen.open_indexes_max = static_cast<uint32_t>(settings.max_open_indexes);
  chosen.key_values_max = static_cast<uint32_t>(settings.max_key_values);
  chosen.errors = settings.errors_choice == 0 ? protocol::ErrorStyle::compatible : protocol::ErrorStyle::text;
  return chosen;
}

bool open_door(Access access) {
  const protocol::Settings spoken = protocol_settings(access);
  const bool asks = spoken.accounts || !spoken.secret.empty();
  door::Settings chosen = door_settings(access);
  if (!running->doors.check(chosen, asks, "a secret or accounts; set one, handlersocket_auth")) return false;
  std::unique_ptr<protocol::HandlerSocket> &protocol = running->protocols[access == Access::read ? 0 : 1];
  protocol = std::make_unique<protocol::HandlerSocket>(spoken);
  return running->doors.open(chosen, *protocol, access);
}

int show(MYSQL_THD, st_mysql_show_var *variable, char *) {
  DoorStatus status;
  Tally<protocol::Refusal> refusals;
  if (running != nullptr) {
    running->doors.add_to(status);
    for (const auto &protocol : running->protocols) protocol->refusals().add_to(refusals);
  }
  StatusPage page;
  page.add(status);
  page.add_switch("listening", running != nullptr && running->doors.listening(Access::read));
  page.add_switch("listening_wr", running != nullptr && running->doors.listening(Access::write));
#define REFUSAL(name, code, word, text) page.add("errors_" #name, refusals.get(protocol::Refusal::name));
#include "handlersocket/refusal.def"
#undef REFUSAL
  // Names of the original that monitoring scripts read.
  page.add("hs_table_open", status.counters.get(Counter::table_opens));
  page.add("hs_table_close", status.counters.get(Counter::table_closes));
  page.add("hs_table_lock", status.counters.get(Counter::table_locks));
  page.add("hs_table_unlock", status.counters.get(Counter::table_unlocks));
  page.fill(*variable);
  return 0;
}

}  // namespace

int init(void *) {
  log::set_sink(mariadb::write_error_log);
  if (mariadb::server_is_bootstrapping()) return 0;
  if (!check_settings()) return 1;
  try {
    running = new Running;
    if (running->doors.prepare() && open_door(Access::read) && open_door(Access::write)) return 0;
  } catch (const std::bad_alloc &) {
    log::error("handlersocket: out of memory");
  }
  delete std::exchange(running, nullptr);
  return 1;
}

int deinit(void *) {
  const bool open = running != nullptr;
  delete std::exchange(running, nullptr);
  pool::drain();
  if (open) log::note("handlersocket: all doors closed");
  return 0;
}

st_mysql_show_var status_variables[] = {{"Handlersocket", reinterpret_cast<void *>(show), SHOW_FUNC},
                                        {nullptr, nullptr, SHOW_UNDEF}};

}  // namespace postern::plugin::handlersocket
