// contract_plugin.cc: runs the executor contract's suite over the tables of the server that loads it.
//
// A daemon plugin for tests alone. Installing it starts the suite on a thread of its own, which leaves GoogleTest's
// report in the file named by POSTERN_CONTRACT_REPORT; the environment also says how to reach the server by SQL.
#include <mysql/plugin.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "contract/executor_writes_suite.h"
#include "coprocess.h"
#include "engine/mariadb/engine.h"

namespace postern {
namespace {

struct ServerFixture {
  std::unique_ptr<Executor> attach() {
    return engine->attach({.access = Access::write, .name = "contract suite", .counters = &counters}, stop);
  }
  void make_table(int rows) {
    EXPECT_TRUE(
        sql.run("CREATE DATABASE IF NOT EXISTS contract; DROP TABLE IF EXISTS contract.t;"
                "CREATE TABLE contract.t (id INT PRIMARY KEY, v VARCHAR(20), n INT, KEY n (n))"));
    EXPECT_TRUE(sql.run(
        "USE contract; INSERT INTO t SELECT seq, CONCAT('v', seq), IF(seq % 7 = 0, NULL, seq DIV 10) FROM seq_1_to_" +
        std::to_string(rows)));
  }
  void hold_table(bool hold) { EXPECT_TRUE(sql.run(hold ? "LOCK TABLES contract.t WRITE" : "UNLOCK TABLES")); }
  void drop_table() { EXPECT_TRUE(sql.run("SET lock_wait_timeout = 5; DROP TABLE contract.t")); }

  contract_test::Coprocess sql;
  std::unique_ptr<Engine> engine = mariadb::make_engine();
  Counters counters;
  std::atomic<bool> stop{false};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Server, ExecutorContract, ServerFixture);
INSTANTIATE_TYPED_TEST_SUITE_P(Server, ExecutorWrites, ServerFixture);

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
