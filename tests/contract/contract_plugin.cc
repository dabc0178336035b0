// contract_plugin.cc: runs the executor contract's suite over the tables of the server that loads it.
//
// A daemon plugin for tests alone. Installing it starts the suite on a thread of its own, which leaves GoogleTest's
// report in the file named by POSTERN_CONTRACT_REPORT; the environment also says how to reach the server by SQL.
#include <mysql/plugin.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "contract/testing/executor_contract_suite.h"
#include "server_fixture.h"

namespace postern {
namespace {

using contract_test::ServerFixture;

INSTANTIATE_EXECUTOR_CONTRACT(Server, ServerFixture);

std::thread runner;

void run_suite() {
  std::string report = std::string("--gtest_output=json:") + std::getenv("POSTERN_CONTRACT_REPORT");
  std::string name = "contract_test";
  char *arguments[] = {name.data(), report.data(), nullptr};
  int count = 2;
  testing::InitGoogleTest(&count, arguments);
  [[maybe_unused]] const int failed = RUN_ALL_TESTS();  // the report tells
}

int init(void *) {
  runner = std::thread(run_suite);
  return 0;
}

int deinit(void *) {
  runner.join();
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
