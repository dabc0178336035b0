// server_fixture.h: ServerFixture, a real server for the contract's suites. For tests inside it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "contract/testing/executor_test_fixture.h"
#include "coprocess.h"
#include "engine/engine.h"

namespace postern::contract_test {

struct ServerFixture {
  static constexpr const char *unknown_database = "1146 42S02";
  static constexpr const char *no_number_state = "22007";
  std::unique_ptr<Executor> attach() {
    return engine->attach({.access = Access::write, .name = "contract suite", .counters = &counters}, stop);
  }
  void make_empty_table() {
    EXPECT_TRUE(
        sql.run("CREATE DATABASE IF NOT EXISTS contract; USE contract; DROP TABLE IF EXISTS t;"
                "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT, KEY n (n), KEY v (v))"));
  }
  void make_table(int rows) {
    make_empty_table();
    EXPECT_TRUE(sql.run("INSERT INTO t SELECT seq, CONCAT('v', seq), IF(seq % 7 = 0, NULL, seq DIV 10) FROM seq_1_to_" +
                        std::to_string(rows)));
  }
  void hold_table(bool hold) { EXPECT_TRUE(sql.run(hold ? "LOCK TABLES contract.t WRITE" : "UNLOCK TABLES")); }
  void drop_table() { EXPECT_TRUE(sql.run("SET lock_wait_timeout = 5; DROP TABLE contract.t")); }

  Coprocess sql;
  std::unique_ptr<Engine> engine = engine::make_engine();
  Counters counters;
  std::atomic<bool> stop{false};
};

}  // namespace postern::contract_test
