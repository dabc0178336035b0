// contract_plugin.cc: runs the executor contract's suite over the tables of the server that loads it.
//
// A daemon plugin for tests alone. Installing it starts the suite, see runner.h.
#include <mysql/plugin.h>

#include "contract/testing/executor_contract_suite.h"
#include "runner.h"
#include "server_fixture.h"

namespace postern {
namespace {

using contract_test::ServerFixture;

INSTANTIATE_EXECUTOR_CONTRACT(Server, ServerFixture);

int init(void *) {
  contract_test::start_suite();
  return 0;
}

int deinit(void *) {
  contract_test::join_suite();
  return 0;
}

}  // namespace
}  // namespace postern

static st_mysql_daemon contract_descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

maria_declare_plugin(contract_test){
    MYSQL_DAEMON_PLUGIN,
    &contract_descriptor,
    "contract_test",
    "Postern",
    "Runs the executor contract's suite",
    PLUGIN_LICENSE_GPL,
    postern::init,
    postern::deinit,
    0x0001,
    nullptr,
    nullptr,
    "0.1",
    MariaDB_PLUGIN_MATURITY_EXPERIMENTAL,
} maria_declare_plugin_end;
