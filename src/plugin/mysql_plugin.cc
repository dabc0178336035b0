// mysql_plugin.cc: Postern as MySQL loads it: the plugin `handlersocket`, a port for reading. Only the address and the
// port can be set; the plugin's other settings have MariaDB's defaults.
#include <mysql/plugin.h>

#include <new>
#include <utility>

#include "base/log.h"
#include "base/pool.h"
#include "doors.h"
#include "engine/engine.h"
#include "handlersocket/protocol.h"
#include "settings.h"

namespace postern::plugin {
namespace {

char *address;
unsigned int port;

MYSQL_SYSVAR_STR(address, address, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Address to listen on: one of this machine's own, as clients have not to say who they are.", nullptr,
                 nullptr, "127.0.0.1");
MYSQL_SYSVAR_UINT(port, port, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY, "Port for reading; 0 opens none.", nullptr,
                  nullptr, 9998, 0, 65535, 0);
SYS_VAR *system_variables[] = {MYSQL_SYSVAR(address), MYSQL_SYSVAR(port), nullptr};

ClientSettings defaults() {
  ClientSettings settings{};
#define TEXT(name, initial, help) settings.name = const_cast<char *>(initial);
#define NUMBER(name, initial, least, most, help) settings.name = initial;
#define SWITCH(name, initial, help) settings.name = initial;
#define CHOICE(name, Words, initial, help, ...) settings.name = const_cast<char *>(initial);
#define LIVE_NUMBER NUMBER
#define LIVE_SWITCH SWITCH
#define LIVE_CHOICE CHOICE
#define ACTION(name, help)
#include "client_settings.def"
#include "door_settings.def"
#undef TEXT
#undef NUMBER
#undef SWITCH
#undef CHOICE
#undef LIVE_NUMBER
#undef LIVE_SWITCH
#undef LIVE_CHOICE
#undef ACTION
  return settings;
}

class Reading {
 public:
  bool open();

 private:
  const ClientSettings settings_ = defaults();
  handlersocket::HandlerSocket protocol_{{.access = Access::read}};
  Doors doors_{"handlersocket", settings_, engine::LoginNames::meant};
};

/// False, with a line in the log, if the door cannot be opened.
bool Reading::open() {
  if (!doors_.prepare()) return false;
  door::Options chosen = doors_.common();
  chosen.name = "handlersocket read";
  chosen.host = text(address);
  chosen.port = static_cast<uint16_t>(port);
  return doors_.open({.options = chosen,
                      .protocol = &protocol_,
                      .access = Access::read,
                      .usual_port = 9998,
                      .remedy = "accounts, which it does not have in MySQL"});
}

Reading *reading;  // from init to deinit

int deinit(MYSQL_PLUGIN) {
  delete std::exchange(reading, nullptr);
  pool::drain();
  return 0;
}

int init(MYSQL_PLUGIN plugin) {
  log::set_sink(engine::write_error_log);
  if (engine::server_is_bootstrapping()) return 0;
  try {
    reading = new Reading;
    if (reading->open()) return 0;
  } catch (const std::bad_alloc &) {
    log::error("handlersocket: out of memory");
  }
  deinit(plugin);
  return 1;
}

st_mysql_daemon descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace
}  // namespace postern::plugin

mysql_declare_plugin(postern){
    MYSQL_DAEMON_PLUGIN,
    &postern::plugin::descriptor,
    "handlersocket",
    "Postern",
    "Reads rows by key over the HandlerSocket protocol, past SQL",
    PLUGIN_LICENSE_GPL,
    postern::plugin::init,
    nullptr,
    postern::plugin::deinit,
    0x0001,
    nullptr,
    postern::plugin::system_variables,
    nullptr,
    0,
} mysql_declare_plugin_end;
