// Scripts and locks in a real server: other clients change the rows, and the thread, between two steps and during a
// wait; and the rows after a step is rolled back.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "contract/testing/executor_scripts_suite.h"
#include "server_fixture.h"

namespace postern::contract_test {
namespace {

class ServerScripts : public ScriptTest<ServerFixture> {
 protected:
  void sql(const std::string &statements) { EXPECT_TRUE(fixture_.sql.run(statements)) << statements; }
  std::string ask(const std::string &statements) { return fixture_.sql.ask(statements); }

  /// Runs statements on a new connection; returns false if one failed.
  static bool elsewhere(const std::string &statements) { return Coprocess().run(statements); }
  /// Waits until `question` has an answer, which it returns without its end.
  static std::string await(const std::string &question) {
    Coprocess observer;
    std::string answer;
    for (int i = 0; i < 2'000 && answer.empty(); ++i) answer = observer.ask("DO SLEEP(0.01);" + question);
    EXPECT_FALSE(answer.empty()) << question;
    if (!answer.empty()) answer.pop_back();
    return answer;
  }
  static constexpr const char *row_waiter =
      "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
  static constexpr const char *alter_waits =
      "SELECT id FROM information_schema.processlist WHERE info LIKE 'ALTER%' AND state LIKE 'Waiting for table%'";

  /// The steps, with `done` called before step number `at`.
  TestScript interrupted(Steps steps, int at, std::function<void()> between) {
    return TestScript([steps = std::move(steps), at, between = std::move(between)](int next) {
      if (next == at) between();
      return steps[static_cast<size_t>(next)];
    });
  }
  Script::Step inserting(TableSlot &slot, std::string_view id, std::string_view v = "new") {
    insert_row(slot, id, v);
    return step();
  }
  Script::Step renaming(TableSlot &slot, std::string_view id) {
    rename(slot, key(id));
    return step();
  }
  Script::Step locking(TableSlot &slot, std::string_view id) {
    lock(slot, key(id));
    return step();
  }
  bool its_first_ = false;
  TableSlot &other_table() {
    sql("CREATE OR REPLACE TABLE contract.u (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO contract.u VALUES (1, "
        "'a')");
    return opened({"contract", "u", "PRIMARY", {"id", "v"}, {}});
  }
};

TEST_F(ServerScripts, LockedRowsAndAbsentRowsStayAsTheyAreUntilTheEnd) {
  TableSlot &slot = opened();
  int refused = 0;
  TestScript its = interrupted({locking(slot, "5"), locking(slot, "1001"), inserting(slot, "1001"), {}}, 2, [&] {
    const std::string impatient = "SET innodb_lock_wait_timeout = 1;";
    for (const char *const change : {"UPDATE contract.t SET n = 7 WHERE id = 5", "DELETE FROM contract.t WHERE id = 5",
                                     "INSERT INTO contract.t VALUES (1001, 'theirs', 1)"})
      refused += elsewhere(impatient + change) ? 0 : 1;
    EXPECT_TRUE(elsewhere(impatient + "UPDATE contract.t SET n = 7 WHERE id = 6")) << "what is not locked";
  });
  do_script(its);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 v5 0", "6 v6 7"}));
  EXPECT_EQ(stored(1000, 2000), std::vector<std::string>{"1001 new NULL"});
  EXPECT_TRUE(elsewhere("SET innodb_lock_wait_timeout = 1; UPDATE contract.t SET n = 8 WHERE id = 5"));
}

TEST_F(ServerScripts, ALockInAUnitKeepsARowFromComing) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id = 6");
  executor_->allow_row_wait(20'000);
  batch_.begin_unit(true);
  HeardReply &absent = lock(slot, key("1001"));
  HeardReply &late = lock(slot, key("6"));
  HeardReply &inserted = insert_row(slot, "1001");
  batch_.end_unit();
  bool came = true;
  std::thread rival([&] {
    await(row_waiter);
    came = elsewhere("SET innodb_lock_wait_timeout = 1; INSERT INTO contract.t VALUES (1001, 'theirs', 1)");
    EXPECT_TRUE(fixture_.sql.run("COMMIT"));
  });
  EXPECT_TRUE(executor_->run({.ops = batch_.ops(), .units = batch_.units(), .lane = Lane::alone}).lasted());
  rival.join();
  EXPECT_FALSE(came);
  EXPECT_TRUE(absent.rows.empty());
  EXPECT_EQ(late.firsts(), std::vector<std::string>{"6"});
  EXPECT_EQ(inserted.changed, 1u);
}

TEST_F(ServerScripts, ALockReadsTheCurrentRowsAndAFindTheViewOfItsStep) {
  TableSlot &slot = opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {}});
  sql("BEGIN; UPDATE contract.t SET n = 41 WHERE id = 6");
  executor_->allow_row_wait(20'000);
  batch_.begin_unit(true);
  HeardReply &before = find(slot, key("5"));
  HeardReply &locked = lock(slot, key("6"));
  HeardReply &viewed = find(slot, key("6"));
  batch_.end_unit();
  std::thread rival([&] {
    await(row_waiter);
    EXPECT_TRUE(fixture_.sql.run("UPDATE contract.t SET n = 42 WHERE id IN (5, 6); COMMIT"));
  });
  EXPECT_TRUE(executor_->run({.ops = batch_.ops(), .units = batch_.units(), .lane = Lane::alone}).lasted());
  rival.join();
  EXPECT_EQ(before.rows.at(0).at(2), "0");
  EXPECT_EQ(locked.rows.at(0).at(2), "42");
  EXPECT_EQ(viewed.rows.at(0).at(2), "0") << "of the view that the first find has opened";
  batch_.clear();
  find(slot, key("7"));
  const Script::Step first = step();
  HeardReply &later = find(slot, key("8"));
  const Script::Step second = step();
  TestScript its =
      interrupted({first, second, {}}, 1, [] { EXPECT_TRUE(elsewhere("UPDATE contract.t SET n = 42 WHERE id = 8")); });
  do_script(its);
  EXPECT_EQ(later.rows.at(0).at(2), "42") << "each step has a view of its own";
}

TEST_F(ServerScripts, AScriptThatMeetsALockedRowIsLeftWithNothingOfIt) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id = 6");
  executor_->allow_row_wait(0);
  for (const bool locks : {true, false}) {
    TestScript &its = script_of({inserting(slot, "1001"), locks ? locking(slot, "6") : renaming(slot, "6"), {}});
    HeardReply &reply = script(its);
    EXPECT_TRUE(run_script().lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::locked);
    EXPECT_EQ(reply.dones, 0);
    EXPECT_TRUE(stored(1000, 2000).empty());
    EXPECT_EQ(its.begins, 1);
    if (locks) batch_.truncate(0);
  }
  EXPECT_TRUE(elsewhere("SET innodb_lock_wait_timeout = 1; INSERT INTO contract.t VALUES (1001, 'theirs', 1)"));
  sql("ROLLBACK; DELETE FROM contract.t WHERE id = 1001");
  EXPECT_TRUE(run_script().lasted());
  EXPECT_EQ(batch_.ops()[0].progress, Progress::done);
  EXPECT_EQ(stored(6, 6), std::vector<std::string>{"6 renamed 0"});
}

TEST_F(ServerScripts, AScriptThatMeetsADeadlockIsLostAsAWholeAndBeginsAnew) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id BETWEEN 6 AND 90");
  executor_->allow_row_wait(20'000);
  TestScript &its = script_of({inserting(slot, "1001"), renaming(slot, "5"), renaming(slot, "6"), {}});
  HeardReply &reply = script(its);
  std::thread rival([&] {
    await(row_waiter);
    EXPECT_TRUE(fixture_.sql.run("UPDATE contract.t SET n = 2 WHERE id = 5; COMMIT"));
  });
  EXPECT_FALSE(run_script().lasted());
  rival.join();
  EXPECT_EQ(reply.dones, 0);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 v5 2", "6 v6 1"}));
  EXPECT_TRUE(stored(1000, 2000).empty());
  EXPECT_TRUE(run_script().lasted());
  EXPECT_EQ(its.begins, 2);
  EXPECT_EQ(reply.dones, 1);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 renamed 2", "6 renamed 1"}));
  EXPECT_EQ(stored(1000, 2000).size(), 1u);
}

TEST_F(ServerScripts, KillLeavesNothingOfAScript) {
  TableSlot &slot = opened();
  const std::string victim = "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND info IS NULL";
  for (const std::string how : {"KILL ", "KILL QUERY "}) {
    TestScript its = interrupted({inserting(slot, "1001"), inserting(slot, "1002"), {}}, 1, [&] {
      if (!std::exchange(its_first_, false)) return;
      EXPECT_TRUE(elsewhere(how + await(victim)));
    });
    its_first_ = true;
    script(its);
    const Settlement settlement = run_script();
    EXPECT_FALSE(settlement.lasted());
    EXPECT_EQ(settlement.failure, Failure::interrupted);
    EXPECT_EQ(settlement.repeatable, how == "KILL ") << "KILL QUERY ends the request";
    EXPECT_FALSE(executor_->server_stopping());
    EXPECT_TRUE(stored(1000, 2000).empty());
    EXPECT_TRUE(run_script().lasted());
    EXPECT_EQ(stored(1000, 2000).size(), 2u);
    batch_.truncate(0);
    sql("DELETE FROM contract.t WHERE id > 1000");
  }
}

TEST_F(ServerScripts, AnAlterWaitsForAScriptThatHasBegun) {
  TableSlot &slot = opened();
  std::thread alter;
  TestScript its = interrupted({inserting(slot, "1001"), inserting(slot, "1002"), {}}, 1, [&] {
    alter = std::thread([] { EXPECT_TRUE(elsewhere("ALTER TABLE contract.t ADD COLUMN extra INT")); });
    await(alter_waits);
  });
  do_script(its);
  alter.join();
  EXPECT_EQ(stored(1000, 2000).size(), 2u);
}

TEST_F(ServerScripts, AScriptGivesWayToAnAlterThatCameFirstAndBeginsAnew) {
  TableSlot &slot = opened();
  TableSlot &other = other_table();
  std::thread alter;
  find(other, key("1"));
  const Script::Step looks = step();
  for (const bool has_looked : {false, true}) {
    bool first = true;
    const Script::Step begins = has_looked ? looks : inserting(slot, "1001");
    TestScript its = interrupted({begins, inserting(other, has_looked ? "3" : "2"), {}}, 1, [&] {
      if (!std::exchange(first, false)) return;
      // Makes another reader, or the script's own read, lock the table.
      if (!has_looked) sql("BEGIN; SELECT * FROM contract.u");
      alter = std::thread([] { EXPECT_TRUE(elsewhere("ALTER TABLE contract.u ENGINE = InnoDB, ALGORITHM = COPY")); });
      await(alter_waits);
    });
    HeardReply &reply = script(its);
    EXPECT_TRUE(run_script().lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::busy);
    EXPECT_EQ(reply.dones, 0);
    if (!has_looked) sql("COMMIT");
    alter.join();
    EXPECT_TRUE(stored(1000, 1001).empty() != has_looked);
    EXPECT_TRUE(run_script().lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::done);
    EXPECT_EQ(its.begins, 2);
    batch_.truncate(0);
  }
  EXPECT_EQ(ask("SELECT GROUP_CONCAT(id ORDER BY id) FROM contract.u"), "1,2,3\n");
  executor_->idle();
  sql("DROP TABLE contract.u");
}

TEST_F(ServerScripts, OthersMayChangeUnlockedRowsBetweenTheSteps) {
  TableSlot &slot = opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {}});
  rename(slot, key("5"));
  const Script::Step first = step();
  HeardReply &locked = lock(slot, key("7"));
  rename(slot, key("7"));
  const Script::Step second = step();
  TestScript its = interrupted(
      {first, second, {}}, 1, [] { EXPECT_TRUE(elsewhere("UPDATE contract.t SET v = 'theirs', n = 1 WHERE id = 7")); });
  do_script(its);
  EXPECT_EQ(locked.rows.at(0).at(1), "theirs");
  EXPECT_EQ(stored(5, 7), (std::vector<std::string>{"5 renamed 0", "6 v6 0", "7 renamed 1"}));
}

TEST_F(ServerScripts, RowsThatAStepHasLockedStayLockedWhenItIsUndone) {
  TableSlot &slot = opened();
  rename(slot, key("5"));
  insert_row(slot, "6");
  const Script::Step fails = step();
  TestScript its = interrupted({locking(slot, "1"), fails, {What::mark}, renaming(slot, "8"), {What::back}, {}}, 5, [] {
    for (const char *const id : {"5", "8"})
      EXPECT_FALSE(elsewhere(std::string("SET innodb_lock_wait_timeout = 1; DELETE FROM contract.t WHERE id = ") + id));
  });
  do_script(its);
  EXPECT_EQ(stored(5, 8), (std::vector<std::string>{"5 v5 0", "6 v6 0", "7 v7 NULL", "8 v8 0"}));
}

TEST_F(ServerScripts, InATurnAScriptThatMeetsALockedRowIsLeftOrTakesTheRunAlong) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id = 6");
  for (const bool has_written : {false, true}) {
    Steps steps{locking(slot, "6"), {}};
    if (has_written) steps.insert(steps.begin(), inserting(slot, "1001"));
    TestScript &its = script_of(steps);
    its.suits = true;
    batch_.begin(1);
    HeardReply &reply = script(its);
    batch_.begin(2);
    HeardReply &neighbour = insert_row(slot, "1002");
    EXPECT_EQ(executor_->run({.ops = batch_.ops()}).lasted(), !has_written);
    EXPECT_EQ(reply.dones, 0);
    if (!has_written) {
      EXPECT_EQ(batch_.ops()[0].progress, Progress::locked);
      EXPECT_EQ(neighbour.changed, 1u);
    }
    batch_.truncate(0);
    EXPECT_EQ(stored(1000, 2000).size(), has_written ? 0u : 1u);
    EXPECT_TRUE(elsewhere("DELETE FROM contract.t WHERE id > 1000"));
  }
  sql("ROLLBACK");
}

TEST_F(ServerScripts, InATurnScriptsOverTablesWithTriggersAreLeft) {
  sql("CREATE OR REPLACE TABLE contract.watched (id INT PRIMARY KEY, v VARCHAR(20));"
      "CREATE TRIGGER contract.watched_insert AFTER INSERT ON contract.watched FOR EACH ROW SET @seen = NEW.id");
  TableSlot &watched = opened({"contract", "watched", "PRIMARY", {"id", "v"}, {}});
  for (const bool locks : {true, false}) {
    TestScript &its = script_of({locks ? locking(watched, "1") : inserting(watched, "1"), {}});
    its.suits = true;
    script(its);
    EXPECT_TRUE(executor_->run({.ops = batch_.ops()}).lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::needs_own_run);
    EXPECT_TRUE(run_script().lasted());
    EXPECT_EQ(batch_.ops()[0].progress, Progress::done);
    batch_.truncate(0);
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.watched"), "1\n");
  executor_->idle();
  sql("DROP TABLE contract.watched");
}

TEST_F(ServerScripts, InATurnADeadlockTakesAllAlongAndAllBeginAnew) {
  TableSlot &slot = opened();
  sql("BEGIN; UPDATE contract.t SET n = 1 WHERE id BETWEEN 6 AND 90");
  bool first = true;
  std::thread rival;
  TestScript its = interrupted({renaming(slot, "5"), renaming(slot, "6"), {}}, 1, [&] {
    if (!std::exchange(first, false)) return;
    rival = std::thread([&] { EXPECT_TRUE(fixture_.sql.run("UPDATE contract.t SET n = 2 WHERE id = 5; COMMIT")); });
    await(row_waiter);
  });
  its.suits = true;
  batch_.begin(1);
  insert_row(slot, "1001");
  batch_.begin(2);
  HeardReply &reply = script(its);
  batch_.begin(3);
  insert_row(slot, "1002");
  EXPECT_FALSE(executor_->run({.ops = batch_.ops()}).lasted());
  rival.join();
  EXPECT_EQ(reply.dones, 0);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 v5 2", "6 v6 1"}));
  EXPECT_TRUE(stored(1000, 2000).empty());
  for (const Op &op : batch_.ops()) op.reply->restart();
  EXPECT_TRUE(executor_->run({.ops = batch_.ops()}).lasted());
  EXPECT_EQ(its.begins, 2);
  EXPECT_EQ(stored(5, 6), (std::vector<std::string>{"5 renamed 2", "6 renamed 1"}));
  EXPECT_EQ(stored(1000, 2000).size(), 2u);
}

TEST_F(ServerScripts, InATurnKillLeavesNothingOfItsRun) {
  TableSlot &slot = opened();
  const std::string victim = "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND info IS NULL";
  for (const std::string how : {"KILL ", "KILL QUERY "}) {
    bool first = true;
    TestScript its = interrupted({inserting(slot, "1001"), inserting(slot, "1002"), {}}, 1, [&] {
      if (!std::exchange(first, false)) return;
      EXPECT_TRUE(elsewhere(how + await(victim)));
    });
    its.suits = true;
    batch_.begin(1);
    insert_row(slot, "1003");
    batch_.begin(2);
    script(its);
    const Settlement settlement = executor_->run({.ops = batch_.ops()});
    EXPECT_EQ(settlement.failure, Failure::interrupted);
    EXPECT_FALSE(executor_->server_stopping());
    EXPECT_TRUE(stored(1000, 2000).empty());
    for (const Op &op : batch_.ops()) op.reply->restart();
    EXPECT_TRUE(executor_->run({.ops = batch_.ops()}).lasted());
    EXPECT_EQ(stored(1000, 2000).size(), 3u);
    batch_.truncate(0);
    sql("DELETE FROM contract.t WHERE id > 1000");
  }
}

TEST_F(ServerScripts, InATurnAScriptGivesWayToAnAlterThatCameFirst) {
  TableSlot &slot = opened();
  TableSlot &other = other_table();
  find(slot, key("1"));
  const Script::Step looks = step();
  for (const bool has_written : {false, true}) {
    bool first = true;
    std::thread alter;
    TestScript its = interrupted({has_written ? inserting(slot, "1001") : looks, inserting(other, "2"), {}}, 1, [&] {
      if (!std::exchange(first, false)) return;
      sql("BEGIN; SELECT * FROM contract.u");
      alter = std::thread([] { EXPECT_TRUE(elsewhere("ALTER TABLE contract.u ENGINE = InnoDB, ALGORITHM = COPY")); });
      await(alter_waits);
    });
    its.suits = true;
    batch_.begin(1);
    script(its);
    batch_.begin(2);
    HeardReply &neighbour = insert_row(slot, "1002");
    EXPECT_EQ(executor_->run({.ops = batch_.ops()}).lasted(), !has_written);
    if (!has_written) {
      EXPECT_EQ(batch_.ops()[0].progress, Progress::busy);
      EXPECT_EQ(neighbour.changed, 1u);
    }
    EXPECT_EQ(stored(1000, 2000).size(), has_written ? 0u : 1u);
    sql("COMMIT");
    alter.join();
    batch_.truncate(0);
    sql("DELETE FROM contract.t WHERE id > 1000");
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.u"), "1\n");
  executor_->idle();
  sql("DROP TABLE contract.u");
}

TEST_F(ServerScripts, FlushedTablesAreOpenedAgainInTheMiddleOfAScript) {
  TableSlot &slot = opened();
  TableSlot &other = other_table();
  for (const bool in_a_turn : {false, true}) {
    for (const std::string flush : {"FLUSH TABLES", "FLUSH TABLES contract.u"}) {
      TestScript its = interrupted({inserting(slot, "1001"), inserting(other, "2"), inserting(slot, "1002"), {}}, 1,
                                   [&] { EXPECT_TRUE(elsewhere("SET lock_wait_timeout = 1;" + flush)); });
      its.suits = in_a_turn;
      script(its);
      EXPECT_TRUE(executor_->run({.ops = batch_.ops(), .lane = in_a_turn ? Lane::turn : Lane::alone}).lasted());
      EXPECT_EQ(batch_.ops()[0].progress, Progress::done);
      EXPECT_EQ(stored(1000, 2000).size(), 2u);
      batch_.truncate(0);
      sql("DELETE FROM contract.t WHERE id > 1000; DELETE FROM contract.u WHERE id > 1");
    }
  }
  executor_->idle();
  sql("DROP TABLE contract.u");
}

TEST_F(ServerScripts, TriggersAreUndoneWithTheStepThatFiredThem) {
  sql("CREATE OR REPLACE TABLE contract.log (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20));"
      "CREATE OR REPLACE TABLE contract.watched (id INT PRIMARY KEY, v VARCHAR(20));"
      "CREATE TRIGGER contract.watched_insert AFTER INSERT ON contract.watched FOR EACH ROW"
      " INSERT INTO contract.log (v) VALUES (NEW.v);"
      "CREATE TRIGGER contract.watched_delete AFTER DELETE ON contract.watched FOR EACH ROW"
      " INSERT INTO contract.log (v) VALUES (CONCAT('no ', OLD.v))");
  TableSlot &watched = opened({"contract", "watched", "PRIMARY", {"id", "v"}, {}});
  const Script::Step first = inserting(watched, "1", "a");
  insert_row(watched, "2", "b");
  insert_row(watched, "1", "c");
  const Script::Step fails = step();
  insert_row(watched, "3", "d");
  edit(
      watched, key("1"), [](Row, Draft &) { return Decision::erase; }, false, true);
  const Script::Step both = step();
  do_script(script_of({first, fails, both, {}}));
  EXPECT_EQ(ask("SELECT GROUP_CONCAT(v ORDER BY id) FROM contract.log; SELECT * FROM contract.watched"),
            "a,d,no a\n3\td\n");
  executor_->idle();
  sql("DROP TABLE contract.watched, contract.log");
}

}  // namespace
}  // namespace postern::contract_test
