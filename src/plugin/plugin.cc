// plugin.cc: what the server sees of Postern: one daemon plugin per protocol in one library, each of which may be
// loaded without the others.
#include <mysql/plugin.h>

#include "engine/mariadb/engine.h"
#include "plugins.h"
#include "settings.h"

namespace {

/// Made when the library is loaded, which is before the server looks at its version.
const struct AtLoading {
  AtLoading() { postern::mariadb::tell_if_refused(MYSQL_SERVER_VERSION); }
} at_loading;

st_mysql_daemon handlersocket_descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};
st_mysql_daemon memcached_descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace

maria_declare_plugin(postern){
    MYSQL_DAEMON_PLUGIN,
    &handlersocket_descriptor,
    "handlersocket",
    "Postern",
    "Reads and writes rows by key over the HandlerSocket protocol, past SQL",
    PLUGIN_LICENSE_GPL,
    postern::plugin::handlersocket::init,
    postern::plugin::handlersocket::deinit,
    0x0001,
    postern::plugin::handlersocket::status_variables,
    postern::plugin::handlersocket::system_variables,
    POSTERN_VERSION,
    MariaDB_PLUGIN_MATURITY_GAMMA,
},
    {
        MYSQL_DAEMON_PLUGIN,
        &memcached_descriptor,
        "memcached",
        "Postern",
        "Reads and writes rows by key over the memcached protocol, past SQL",
        PLUGIN_LICENSE_GPL,
        postern::plugin::memcached::init,
        postern::plugin::memcached::deinit,
        0x0001,
        postern::plugin::memcached::status_variables,
        postern::plugin::memcached::system_variables,
        POSTERN_VERSION,
        MariaDB_PLUGIN_MATURITY_GAMMA,
    } maria_declare_plugin_end;
