// Units in a real server: on tables with triggers, with SQL that changes the same rows, and KILL.
#include <string>
#include <thread>
#include <vector>

#include "server_fixture.h"

namespace postern::contract_test {
namespace {

class ServerUnits : public ExecutorTest<ServerFixture> {
 protected:
  void sql(const std::string &statements) { EXPECT_TRUE(fixture_.sql.run(statements)) << statements; }
  std::string ask(const std::string &statements) { return fixture_.sql.ask(statements); }

  HeardReply &insert_row(TableSlot &slot, std::string_view id, std::string_view v = "new") {
    return insert(slot, {Value::of(id), Value::of(v)});
  }
  HeardReply &rename(TableSlot &slot, const Find &find) {
    return edit(slot, find, [](Row, Draft &next) {
      next.set(1, Value::of("renamed"));
      return Decision::write;
    });
  }
  Settlement run_unit() { return executor_->run({.ops = batch_.ops(), .units = batch_.units(), .lane = Lane::alone}); }
  void restart() {
    for (const Op &op : batch_.ops()) op.reply->restart();
  }
  void expect_done() {
    for (const Op &op : batch_.ops()) EXPECT_EQ(op.progress, Progress::done);
    batch_.clear();
  }
  /// Once a transaction waits for a row, runs statements on another connection, with the waiting transaction's id in
  /// place of `?`.
  std::thread when_a_row_is_waited_for(std::string statements) {
    return std::thread([this, statements] {
      Coprocess observer;
      std::string waiting;
      // The server caches INNODB_TRX for a tenth of a second: it may show an earlier test's.
      EXPECT_TRUE(observer.run("DO SLEEP(0.2)"));
      for (int i = 0; i < 2'000 && waiting.empty(); ++i) {
        waiting = observer.ask(
            "DO SLEEP(0.01);"
            "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'");
      }
      ASSERT_FALSE(waiting.empty());
      waiting.pop_back();
      std::string filled = statements;
      if (const size_t at = filled.find('?'); at != std::string::npos) filled.replace(at, 1, waiting);
      EXPECT_TRUE(fixture_.sql.run(filled)) << filled;
    });
  }
};

TEST_F(ServerUnits, TablesWithTriggersAreWrittenOrUndoneTogether) {
  sql("CREATE OR REPLACE TABLE contract.log (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20));"
      "CREATE OR REPLACE TABLE contract.watched (id INT PRIMARY KEY, v VARCHAR(20));"
      "CREATE TRIGGER contract.watched_insert AFTER INSERT ON contract.watched FOR EACH ROW"
      " INSERT INTO contract.log (v) VALUES (NEW.v)");
  TableSlot &plain = opened();
  TableSlot &watched = opened({"contract", "watched", "PRIMARY", {"id", "v"}, {}});
  for (const std::string_view last : {"5", "1001"}) {
    batch_.begin_unit(true);
    HeardReply &first = insert_row(watched, "1", "a");
    HeardReply &found = find(plain, key("7"));
    HeardReply &second = insert_row(watched, "2", "b");
    HeardReply &third = insert_row(plain, last);
    batch_.end_unit();
    EXPECT_TRUE(run_unit().lasted());
    expect_done();
    const Failure expected = last == "5" ? Failure::duplicate_key : Failure::none;
    for (const HeardReply *const reply : {&first, &found, &second, &third}) EXPECT_EQ(reply->failure, expected);
    EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.watched; SELECT v FROM contract.log ORDER BY id"),
              last == "5" ? "0\n" : "2\na\nb\n");
  }
  sql("DROP TABLE contract.watched, contract.log");
}

TEST_F(ServerUnits, AMissingTableFailsTheOpsThatNameIt) {
  sql("CREATE OR REPLACE TABLE contract.gone (id INT PRIMARY KEY, v VARCHAR(20))");
  TableSlot &plain = opened();
  TableSlot &gone = opened({"contract", "gone", "PRIMARY", {"id", "v"}, {}});
  executor_->idle();
  sql("DROP TABLE contract.gone");
  batch_.begin_unit(false);
  HeardReply &first = insert_row(plain, "1001");
  HeardReply &lost = insert_row(gone, "1");
  HeardReply &last = insert_row(plain, "1002");
  batch_.end_unit();
  EXPECT_TRUE(run_unit().lasted());
  expect_done();
  EXPECT_EQ(first.failure, Failure::none);
  EXPECT_EQ(lost.failure, Failure::no_table);
  EXPECT_EQ(last.failure, Failure::none);
  EXPECT_EQ(stored(1000, 2000), (std::vector<std::string>{"1001 new NULL", "1002 new NULL"}));
}

TEST_F(ServerUnits, AUnitThatMeetsALockedRowIsLeftAsAWhole) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id = 6");
  executor_->allow_row_wait(0);
  for (const bool atomic : {true, false}) {
    batch_.begin_unit(atomic);
    HeardReply &first = insert_row(slot, "1001");
    HeardReply &second = rename(slot, key("6"));
    batch_.end_unit();
    EXPECT_TRUE(run_unit().lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::locked);
    EXPECT_EQ(batch_.ops()[1].progress, Progress::waiting);
    EXPECT_EQ(first.dones + second.dones, 0);
    EXPECT_TRUE(stored(1000, 2000).empty());
    if (atomic) batch_.clear();
  }
  sql("ROLLBACK");
  EXPECT_TRUE(run_unit().lasted());
  expect_done();
  EXPECT_EQ(stored(6, 6), std::vector<std::string>{"6 renamed 0"});
  EXPECT_EQ(stored(1000, 2000).size(), 1u);
}

TEST_F(ServerUnits, AUnitThatMeetsADeadlockIsLostAsAWholeAndCanBeRunAgain) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id BETWEEN 6 AND 90");
  executor_->allow_row_wait(20'000);
  batch_.begin_unit(true);
  HeardReply &first = rename(slot, key("5"));
  HeardReply &second = rename(slot, key("6"));
  batch_.end_unit();
  std::thread rival = when_a_row_is_waited_for("UPDATE contract.t SET n = 2 WHERE id = 5; COMMIT");
  EXPECT_FALSE(run_unit().lasted());
  rival.join();
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 v5 2", "6 v6 1"}));
  restart();
  EXPECT_TRUE(run_unit().lasted());
  expect_done();
  EXPECT_EQ(first.changed + second.changed, 2u);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 renamed 2", "6 renamed 1"}));
}

TEST_F(ServerUnits, KillOfTheThreadLeavesNothingOfAUnit) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id = 6");
  executor_->allow_row_wait(20'000);
  batch_.begin_unit(true);
  HeardReply &first = insert_row(slot, "1001");
  HeardReply &second = rename(slot, key("6"));
  batch_.end_unit();
  std::thread killer = when_a_row_is_waited_for("KILL ?");
  EXPECT_FALSE(run_unit().lasted());
  killer.join();
  EXPECT_FALSE(executor_->server_stopping());
  EXPECT_TRUE(stored(1000, 2000).empty());
  sql("ROLLBACK");
  restart();
  EXPECT_TRUE(run_unit().lasted());
  expect_done();
  EXPECT_EQ(first.changed + second.changed, 2u);
}

}  // namespace
}  // namespace postern::contract_test
