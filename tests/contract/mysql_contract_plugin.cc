// mysql_contract_plugin.cc: runs the executor contract's suite over the tables of the MySQL
// server that loads it: contract_plugin.cc for that server. tools/mysql installs it.
#include <mysql/plugin.h>

#include <string>

#include "contract/testing/executor_contract_suite.h"
#include "runner.h"
#include "server_fixture.h"

namespace postern {
namespace {

struct MysqlFixture : contract_test::ServerFixture {
  static constexpr const char *unknown_database = "1049 42000";
  static constexpr const char *no_number_state = "HY000";
  void make_table(int rows) {
    make_empty_table();
    EXPECT_TRUE(
        sql.run("SET cte_max_recursion_depth = 1000000; INSERT INTO t WITH RECURSIVE numbers AS (SELECT 1 AS i"
                " UNION ALL SELECT i + 1 FROM numbers WHERE i < " +
                std::to_string(rows) + ") SELECT i, CONCAT('v', i), IF(i % 7 = 0, NULL, i DIV 10) FROM numbers"));
  }
};

INSTANTIATE_EXECUTOR_CONTRACT(Mysql, MysqlFixture);

int init(MYSQL_PLUGIN) {
  contract_test::start_suite();
  return 0;
}

int deinit(MYSQL_PLUGIN) {
  contract_test::join_suite();
  return 0;
}

st_mysql_daemon descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace
}  // namespace postern

mysql_declare_plugin(contract_test){
    MYSQL_DAEMON_PLUGIN,
    &postern::descriptor,
    "contract_test",
    "Postern",
    "Runs the executor contract's suite",
    PLUGIN_LICENSE_GPL,
    postern::init,
    nullptr,
    postern::deinit,
    0x0001,
    nullptr,
    nullptr,
    nullptr,
    0,
} mysql_declare_plugin_end;
