// All kinds of tables in a real server, and concurrent work on them: keys, triggers, histories, partitions, storage
// engines, accounts, and SQL that changes the same rows.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "server_fixture.h"

/// A function of the server.
extern "C" const char *mysql_errno_to_sqlstate(unsigned number);

namespace postern::contract_test {
namespace {

constexpr auto all_rows = std::numeric_limits<uint64_t>::max();

class ServerTables : public ExecutorTest<ServerFixture> {
 protected:
  void sql(const std::string &statements) { EXPECT_TRUE(fixture_.sql.run(statements)) << statements; }
  std::string ask(const std::string &statements) { return fixture_.sql.ask(statements); }

  /// A slot on `contract.<table>` whose row's key is looked up in an index.
  TableSlot &keyed(std::string_view table, std::vector<Bytes> columns, std::string_view index = "PRIMARY") {
    return opened({"contract", table, index, std::move(columns), {}, 1});
  }
  Failure failure_to_open(const Names &names) {
    const HeardReply &reply = open(slot(), names);
    run_all();
    return reply.failure;
  }
  /// An insert that overwrites column 1 of an existing row.
  HeardReply &overwrite(TableSlot &slot, std::string_view key, std::string_view value) {
    return decide(slot, {Value::of(key), Value::of(value)}, [value](Row, Draft &next) {
      next.set(1, Value::of(value));
      return Decision::write;
    });
  }
  HeardReply &keep(TableSlot &slot, std::string_view key, std::string_view value) {
    return decide(slot, {Value::of(key), Value::of(value)}, [](Row, Draft &) { return Decision::keep; });
  }
  HeardReply &extend(TableSlot &slot, std::string_view key, std::string_view bytes, bool at_front = false) {
    return edit(slot, this->key(key), [bytes, at_front](Row, Draft &next) {
      next.extend(1, bytes, at_front);
      return Decision::write;
    });
  }
  HeardReply &erase_all(TableSlot &slot) {
    return edit(
        slot, {.comparison = Comparison::at_least, .limit = all_rows}, [](Row, Draft &) { return Decision::erase; },
        false, true);
  }
  /// Runs the only op: first among others, which must fail, then alone.
  void run_left_alone() {
    run();
    EXPECT_EQ(batch_.ops()[0].progress, Progress::needs_own_run);
    run_alone();
  }
};

TEST_F(ServerTables, EveryFailureHasANumberWithItsState) {
  for (size_t i = 1; i < failure_count; ++i) {
    const auto failure = static_cast<Failure>(i);
    const SqlError error = sql_error_of(failure);
    EXPECT_NE(error.number, 0) << failure_name(failure);
    EXPECT_STREQ(error.state, mysql_errno_to_sqlstate(error.number)) << failure_name(failure);
  }
}

TEST_F(ServerTables, FailuresHaveTheServersNumbers) {
  sql("CREATE OR REPLACE TABLE contract.picky (id INT PRIMARY KEY, v VARCHAR(3) NOT NULL, n TINYINT CHECK (n < 100));"
      "\nDELIMITER //\n"
      "CREATE TRIGGER contract.refuses BEFORE INSERT ON contract.picky FOR EACH ROW IF NEW.id = 99 THEN "
      "SIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'no'; END IF//\n"
      "DELIMITER ;\nDO 0");
  TableSlot &slot = opened({"contract", "picky", "PRIMARY", {"id", "v", "n"}});
  const auto error_of = [&](Bytes id, Value v, Bytes n) {
    const HeardReply &reply = insert(slot, {Value::of(id), v, Value::of(n)});
    run_alone();
    return std::to_string(reply.sql_error.number) + " " + reply.sql_error.state;
  };
  EXPECT_EQ(error_of("1", Value::of("abc"), "1"), "0 ");
  EXPECT_EQ(error_of("1", Value::of("abc"), "1"), "1062 23000");
  EXPECT_EQ(error_of("2", Value::of("abcd"), "1"), "1406 22001");
  EXPECT_EQ(error_of("2", Value::of("abc"), "1000"), "1264 22003");
  EXPECT_EQ(error_of("2", Value::of("abc"), "x"), "1366 22007");
  EXPECT_EQ(error_of("2", Value::null(), "1"), "1048 23000");
  EXPECT_EQ(error_of("2", Value::of("abc"), "100"), "4025 23000");
  EXPECT_EQ(error_of("99", Value::of("abc"), "1"), "30001 45001");
}

TEST_F(ServerTables, TheKeyIsWhateverTheIndexIsNow) {
  sql("CREATE OR REPLACE TABLE contract.keys (a INT NOT NULL, b INT NOT NULL, c VARCHAR(20) NOT NULL, d INT,"
      "UNIQUE a (a), UNIQUE ba (b, a), UNIQUE c (c(5)), UNIQUE d (d), KEY b (b), UNIQUE whole (c))");
  const auto failure_of = [&](Bytes index, std::vector<Bytes> columns, uint32_t key_columns = 1) {
    return failure_to_open({"contract", "keys", index, std::move(columns), {}, key_columns});
  };
  EXPECT_EQ(failure_of("a", {"a", "b"}), Failure::none);
  EXPECT_EQ(failure_of("whole", {"c", "b"}), Failure::none);
  EXPECT_EQ(failure_of("ba", {"b", "a", "c"}, 2), Failure::none);
  EXPECT_EQ(failure_of("ba", {"a", "b", "c"}, 2), Failure::index_not_the_key) << "not in the index's order";
  EXPECT_EQ(failure_of("ba", {"b", "a"}, 1), Failure::index_not_the_key);
  EXPECT_EQ(failure_of("a", {"a", "b"}, 2), Failure::index_not_the_key);
  EXPECT_EQ(failure_of("c", {"c", "b"}), Failure::index_not_the_key) << "a prefix";
  EXPECT_EQ(failure_of("d", {"d", "b"}), Failure::index_not_the_key) << "may be NULL";
  EXPECT_EQ(failure_of("b", {"b", "a"}), Failure::index_not_the_key) << "not unique";

  TableSlot &reading = keyed("keys", {"a", "b"}, "a");
  TableSlot &writing = keyed("keys", {"a", "d", "b", "c"}, "a");
  const std::vector<Value> row = {Value::of("1"), Value::of("2"), Value::of("3"), Value::of("x")};
  HeardReply &inserted = insert(writing, row, OnDuplicate::update);
  run_all();
  EXPECT_EQ(inserted.changed, 1u);
  executor_->idle();
  sql("ALTER TABLE contract.keys DROP KEY a, ADD KEY a (a)");
  HeardReply &found = find(reading, key("1"));
  HeardReply &updated = insert(writing, row, OnDuplicate::update);
  run_all();
  EXPECT_EQ(found.failure, Failure::index_not_the_key);
  EXPECT_EQ(updated.failure, Failure::index_not_the_key);
  EXPECT_NE(updated.message.find("Index 'a' of 'contract.keys'"), std::string::npos) << updated.message;
  executor_->idle();
  sql("ALTER TABLE contract.keys DROP KEY a, ADD UNIQUE a (a)");
  HeardReply &found_again = find(reading, key("1"));
  HeardReply &updated_again = insert(writing, row, OnDuplicate::update);
  run_all();
  EXPECT_EQ(found_again.failure, Failure::none);
  EXPECT_EQ(updated_again.failure, Failure::none);
}

TEST_F(ServerTables, AnotherUniqueKeyLeadsToNobodyElsesRow) {
  // The other keys come first, so that the storage engine meets existing rows by them first.
  sql("CREATE OR REPLACE TABLE contract.others (id INT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(10) NOT NULL, v "
      "VARCHAR(20),"
      "UNIQUE v (v), UNIQUE k (k)); INSERT INTO contract.others (k, v) VALUES ('a', 'one'), ('b', 'two')");
  TableSlot &slot = keyed("others", {"k", "v"}, "k");
  for (const OnDuplicate on_duplicate : {OnDuplicate::update, OnDuplicate::decide}) {
    const auto write = [&](std::string_view key, std::string_view value) -> HeardReply & {
      if (on_duplicate == OnDuplicate::decide) return overwrite(slot, key, value);
      return insert(slot, {Value::of(key), Value::of(value)}, on_duplicate);
    };
    HeardReply &by_another = write("c", "two");
    HeardReply &to_another = write("a", "two");
    HeardReply &the_same = write("a", "one");
    HeardReply &changed = write("b", "three");
    HeardReply &back = write("b", "two");
    run_all();
    EXPECT_EQ(by_another.failure, Failure::duplicate_key);
    EXPECT_NE(by_another.message.find("Duplicate entry 'two' for key 'v'"), std::string::npos) << by_another.message;
    EXPECT_EQ(to_another.failure, Failure::duplicate_key);
    EXPECT_EQ(the_same.failure, Failure::none);
    EXPECT_EQ(changed.changed, 2u);
    EXPECT_EQ(back.changed, 2u);
    EXPECT_EQ(ask("SELECT k, v FROM contract.others ORDER BY k"), "a\tone\nb\ttwo\n");
  }
}

TEST_F(ServerTables, DecidesWhereTriggersAndHistoriesAre) {
  sql("CREATE OR REPLACE TABLE contract.told (id INT PRIMARY KEY, v VARCHAR(40));"
      "CREATE OR REPLACE TABLE contract.log (line VARCHAR(100));"
      "CREATE TRIGGER contract.before_insert BEFORE INSERT ON contract.told FOR EACH ROW SET NEW.v = CONCAT(NEW.v, "
      "'+');"
      "CREATE TRIGGER contract.before_update BEFORE UPDATE ON contract.told FOR EACH ROW SET NEW.v = CONCAT(NEW.v, "
      "'*');"
      "CREATE TRIGGER contract.after_update AFTER UPDATE ON contract.told FOR EACH ROW"
      " INSERT INTO contract.log VALUES (CONCAT(OLD.v, '>', NEW.v));"
      "CREATE TRIGGER contract.after_delete AFTER DELETE ON contract.told FOR EACH ROW"
      " INSERT INTO contract.log VALUES (CONCAT('deleted ', OLD.v))");
  TableSlot &told = keyed("told", {"id", "v"});
  overwrite(told, "1", "a");
  run_left_alone();
  HeardReply &written = overwrite(told, "1", "b");
  run_left_alone();
  HeardReply &kept = keep(told, "1", "c");
  run_left_alone();
  extend(told, "1", "d", true);
  run_left_alone();
  EXPECT_EQ(written.changed, 2u);
  EXPECT_EQ(kept.changed, 0u);
  HeardReply &too_long = extend(told, "1", std::string_view("0123456789012345678901234567890123456789"));
  run_left_alone();
  EXPECT_EQ(too_long.failure, Failure::bad_value);
  EXPECT_NE(too_long.message.find("Data too long for column 'v'"), std::string::npos) << too_long.message;
  EXPECT_EQ(ask("SELECT * FROM contract.told"), "1\tdb**\n");
  erase_all(told);
  run_left_alone();
  EXPECT_EQ(ask("SELECT * FROM contract.log"), "a+>b*\nb*>db**\ndeleted db**\n");

  sql("CREATE OR REPLACE TABLE contract.kept (id INT PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING");
  TableSlot &history = keyed("kept", {"id", "v"});
  for (const char *const value : {"a", "b"}) {
    overwrite(history, "1", value);
    run_left_alone();
  }
  keep(history, "1", "c");
  run_left_alone();
  overwrite(history, "2", "d");
  run_left_alone();
  HeardReply &erased = erase_all(history);
  run_left_alone();
  EXPECT_EQ(erased.changed, 2u);
  EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.kept"), "0\n");
  EXPECT_EQ(ask("SELECT id, v FROM contract.kept FOR SYSTEM_TIME ALL ORDER BY v"), "1\ta\n1\tb\n2\td\n");
  overwrite(history, "1", "e");
  run_left_alone();
  HeardReply &found = find(history, key("1"));
  run_all();
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0][1], "e");
}

TEST_F(ServerTables, DecidesInEveryKindOfTable) {
  for (const std::string kind : {"ENGINE=InnoDB PARTITION BY KEY (id) PARTITIONS 3", "ENGINE=MyISAM", "ENGINE=Aria",
                                 "ENGINE=MEMORY", "ENGINE=InnoDB ROW_FORMAT=COMPRESSED"}) {
    SCOPED_TRACE(kind);
    const std::string twice = kind == "ENGINE=MEMORY" ? "DEFAULT 4" : "AS (id * 2) VIRTUAL";
    sql("CREATE OR REPLACE TABLE contract.kinds (id INT, v VARCHAR(20), twice INT " + twice +
        ", PRIMARY KEY USING BTREE (id)) " + kind);
    sql("INSERT INTO contract.kinds (id, v) VALUES (1, 'v1'), (2, 'v2'), (3, 'v3'), (4, 'v4')");
    TableSlot &slot = keyed("kinds", {"id", "v", "twice"});
    const auto run_it = [&] {
      run();
      if (batch_.ops()[0].progress == Progress::needs_own_run) run_alone();
      batch_.clear();
    };
    std::string seen;
    HeardReply &written = decide(slot, {Value::of("2"), Value::of("new")}, [&seen](Row now, Draft &next) {
      seen = std::to_string(now[0].integer()) + std::string(now[1].bytes()) + std::to_string(now[2].integer());
      next.extend(1, "+", false);
      return Decision::write;
    });
    run_it();
    HeardReply &kept = keep(slot, "3", "new");
    run_it();
    HeardReply &fresh = keep(slot, "5", "v5");
    run_it();
    EXPECT_EQ(written.failure, Failure::none) << written.message;
    EXPECT_EQ(seen, "2v24");
    EXPECT_EQ(written.changed, 2u);
    EXPECT_EQ(kept.changed, 0u);
    EXPECT_EQ(fresh.changed, 1u);
    EXPECT_EQ(ask("SELECT id, v FROM contract.kinds ORDER BY id"), "1\tv1\n2\tv2+\n3\tv3\n4\tv4\n5\tv5\n");
    HeardReply &erased = erase_all(slot);
    run_it();
    EXPECT_EQ(erased.changed, 5u);
    EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.kinds"), "0\n");
    executor_->idle();
  }
}

TEST_F(ServerTables, ExtendsWithinTheColumnsBounds) {
  const struct {
    std::string type, old, bytes, at_end, at_front;  // the contents after the op; the error message if it must fail
  } cases[] = {
      {"VARCHAR(6)", "'abc'", "xyz", "abcxyz", "xyzabc"},
      {"VARCHAR(5)", "'abc'", "xyz", "Data too long for column 'v'", "Data too long for column 'v'"},
      {"VARCHAR(5)", "'abc'", "xy ", "abcxy", "Data too long for column 'v'"},
      {"CHAR(8)", "'ab'", "cd", "abcd", "cdab"},
      {"BINARY(4)", "'ab'", "cd", "Data too long for column 'v'", "Data too long for column 'v'"},
      {"VARBINARY(8)", "'ab'", "\xff", "ab\xff",
       "\xff"
       "ab"},
      {"VARCHAR(8) CHARACTER SET utf8mb4", "'\xc3\xa4'", "\xc3\xb6", "\xc3\xa4\xc3\xb6", "\xc3\xb6\xc3\xa4"},
      {"VARCHAR(8) CHARACTER SET utf8mb4", "'\xc3\xa4'", "\xb6", "Incorrect string value", "Incorrect string value"},
      {"VARCHAR(8) CHARACTER SET ucs2", "'ab'", "c", "Invalid ucs2 character string", "Invalid ucs2 character string"},
      {"TEXT", "NULL", "abc", "abc", "abc"},
      {"TINYTEXT", "REPEAT('x', 254)", "ab", "Data too long for column 'v'", "Data too long for column 'v'"},
      {"TEXT COMPRESSED", "'ab'", "cd", "abcd", "cdab"},
      {"INT", "12", "34", "1234", "3412"},
      {"INT", "NULL", "34", "34", "34"},
      {"INT", "-12", "3", "-123", "Data truncated for column 'v'"},
      {"INT", "1234567890", "1", "Out of range value for column 'v'", "Out of range value for column 'v'"},
      {"INT", "12", "x", "Data truncated for column 'v'", "Incorrect integer value: 'x12'"},
      {"BIGINT UNSIGNED", "1844674407370955161", "5", "18446744073709551615", "Out of range value for column 'v'"},
      {"BIGINT UNSIGNED", "1844674407370955161", "6", "Out of range value for column 'v'",
       "Out of range value for column 'v'"},
      {"DECIMAL(6,2)", "1.20", "0", "1.20", "1.20"},
      {"DECIMAL(6,2)", "1.20", "9", "1.21", "91.20"},
      {"DOUBLE", "1.5", "5", "1.55", "51.5"},
      {"ENUM('ab', 'abc', 'cab')", "'ab'", "c", "abc", "cab"},
      {"ENUM('ab', 'abc', 'cab')", "'ab'", "d", "Data truncated for column 'v'", "Data truncated for column 'v'"},
      {"DATE", "'2026-11-01'", "x", "Incorrect date value: '2026-11-01x'", "Incorrect date value: 'x2026-11-01'"},
      {"VARCHAR(20) AS (id * 2) STORED", "DEFAULT", "x", "generated column 'v'", "generated column 'v'"},
  };
  for (const auto &one : cases) {
    SCOPED_TRACE(one.type + " " + one.old + " " + one.bytes);
    sql("CREATE OR REPLACE TABLE contract.extended (id INT PRIMARY KEY, v " + one.type +
        "); INSERT INTO contract.extended VALUES (1, " + one.old + "), (2, " + one.old + ")");
    TableSlot &slot = keyed("extended", {"id", "v"});
    const HeardReply *const heard[] = {&extend(slot, "1", one.bytes), &extend(slot, "2", one.bytes, true)};
    HeardReply &rows = find(slot, key("1", Comparison::at_least, 2));
    run_all();
    ASSERT_EQ(rows.rows.size(), 2u);
    for (const int i : {0, 1}) {
      const std::string &expected = i == 0 ? one.at_end : one.at_front;
      if (heard[i]->failure == Failure::none) {
        EXPECT_EQ(rows.rows[static_cast<size_t>(i)][1], expected);
      } else {
        EXPECT_EQ(heard[i]->failure, Failure::bad_value);
        EXPECT_NE(heard[i]->message.find(expected), std::string::npos) << heard[i]->message;
      }
    }
    executor_->idle();
  }
}

TEST_F(ServerTables, ExtendsVeryLongValues) {
  sql("SET GLOBAL max_allowed_packet = 8 << 20; CREATE OR REPLACE TABLE contract.long_ones (id INT PRIMARY KEY, v "
      "LONGBLOB);"
      "INSERT INTO contract.long_ones VALUES (1, REPEAT('a', 4 << 20)), (2, REPEAT('b', (8 << 20) - 3))");
  TableSlot &slot = keyed("long_ones", {"id", "v"});
  const std::string piece(2 << 20, 'c');
  HeardReply &longer = extend(slot, "1", piece);
  HeardReply &at_front = extend(slot, "1", "front", true);
  HeardReply &fits = extend(slot, "2", "ccc");
  HeardReply &beyond = extend(slot, "2", "c");
  run_all();
  sql("SET GLOBAL max_allowed_packet = DEFAULT");
  EXPECT_EQ(longer.failure, Failure::none) << longer.message;
  EXPECT_EQ(at_front.failure, Failure::none) << at_front.message;
  EXPECT_EQ(fits.failure, Failure::none) << fits.message;
  EXPECT_EQ(beyond.failure, Failure::bad_value);
  EXPECT_NE(beyond.message.find("max_allowed_packet (8388608)"), std::string::npos) << beyond.message;
  EXPECT_EQ(
      ask("SELECT v = CONCAT('front', REPEAT('a', 4 << 20), REPEAT('c', 2 << 20)) FROM contract.long_ones WHERE id = 1;"
          "SELECT LENGTH(v), RIGHT(v, 4) FROM contract.long_ones WHERE id = 2"),
      "1\n8388608\tbccc\n");
}

TEST_F(ServerTables, DecidingTakesThePrivilegesOfItsChanges) {
  sql("CREATE OR REPLACE USER decider IDENTIFIED BY 'secret'");
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  struct LocalPeer final : Peer {
    explicit LocalPeer(int its_fd) : fd_(its_fd) {}
    bool local() const override { return true; }
    int fd() const override { return fd_; }
    const int fd_;
  } const peer(fds[0]);
  Identity identity{peer};
  const Login login{"decider", "secret"};
  Op op;
  op.verb = Verb::login;
  op.identity = &identity;
  op.login = &login;
  HeardReply heard_login;
  op.reply = &heard_login;
  EXPECT_TRUE(executor_->run({.ops = {&op, 1}, .lane = Lane::alone}).lasted());
  ASSERT_EQ(heard_login.failure, Failure::none) << heard_login.message;
  TableSlot &slot = keyed("t", {"id", "v", "n"});
  const auto failure_with = [&](const std::string &privileges, bool reads_old_values) {
    sql("REVOKE ALL PRIVILEGES, GRANT OPTION FROM decider; GRANT " + privileges + " ON contract.t TO decider");
    // The engine may use cached rights for this time, and no longer: the test checks their end.
    std::this_thread::sleep_for(std::chrono::milliseconds(limits::privileges_hold_ms));
    const Value values[] = {Value::of("8"), Value::of("x")};
    TestEdit edit([](Row, Draft &) { return Decision::keep; });
    const Insert insert{values, OnDuplicate::decide, &edit, reads_old_values};
    HeardReply reply;
    Op decides;
    decides.verb = Verb::insert;
    decides.identity = &identity;
    decides.slot = &slot;
    decides.insert = &insert;
    decides.reply = &reply;
    EXPECT_TRUE(executor_->run({.ops = {&decides, 1}}).lasted());
    EXPECT_EQ(edit.presented, reply.failure == Failure::none ? 1 : 0);
    return reply.failure;
  };
  EXPECT_EQ(failure_with("INSERT", false), Failure::privilege_denied);
  EXPECT_EQ(failure_with("UPDATE", false), Failure::privilege_denied);
  EXPECT_EQ(failure_with("INSERT, UPDATE", false), Failure::none);
  EXPECT_EQ(failure_with("INSERT, UPDATE", true), Failure::privilege_denied);
  EXPECT_EQ(failure_with("INSERT, UPDATE, SELECT (id, v)", true), Failure::privilege_denied);
  EXPECT_EQ(failure_with("INSERT, UPDATE, SELECT", true), Failure::none);
  identity.account.reset();
  close(fds[0]);
  close(fds[1]);
  sql("DROP USER decider");
}

/// Runs one op until it is done, as doors do.
void run_to_the_end(Executor &executor, Op op, HeardReply &reply) {
  op.reply = &reply;
  for (Lane lane = Lane::turn;; lane = Lane::alone) {
    reply.restart();
    if (executor.run({.ops = {&op, 1}, .lane = lane}).lasted() && op.progress == Progress::done) return;
  }
}

TEST_F(ServerTables, NoDecisionIsLostBetweenInsertsAndDeletes) {
  // Every added value is found in the end: in a row, at the client that deleted its row, or in `taken` by SQL.
  sql("CREATE OR REPLACE TABLE contract.counts (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, n INT NOT NULL, "
      "UNIQUE k (k));"
      "CREATE OR REPLACE TABLE contract.taken (n INT NOT NULL);"
      "\nDELIMITER //\n"
      "CREATE OR REPLACE PROCEDURE contract.take(wanted INT) BEGIN\n"
      "  DECLARE found INT DEFAULT NULL;\n"
      "  DECLARE EXIT HANDLER FOR 1213, 1205 ROLLBACK;\n"
      "  START TRANSACTION;\n"
      "  INSERT INTO counts (k, n) VALUES (wanted, 1) ON DUPLICATE KEY UPDATE n = n + 1;\n"
      "  SELECT n INTO found FROM counts WHERE k = wanted FOR UPDATE;\n"
      "  DELETE FROM counts WHERE k = wanted;\n"
      "  INSERT INTO taken VALUES (found - 1);\n"
      "  COMMIT;\n"
      "END//\n"
      "DELIMITER ;\nDO 0");
  constexpr int rounds = 1'500;
  constexpr int keys = 3;
  std::atomic<int> running{2};
  std::atomic<int64_t> added{0};
  std::atomic<int64_t> erased{0};
  const auto count = [&](uint32_t seed) {
    const std::unique_ptr<Executor> executor = fixture_.attach();
    TableSlot slot;
    const Names names{"contract", "counts", "k", {"k", "n"}, {}, 1};
    const TableSpec spec = names.spec();
    HeardReply reply;
    Op open;
    open.verb = Verb::open;
    open.slot = &slot;
    open.spec = &spec;
    run_to_the_end(*executor, std::move(open), reply);
    for (int i = 0; i < rounds; ++i) {
      seed = seed * 1'103'515'245 + 12'345;
      const Value values[] = {Value::of_natural(seed / 65'536 % keys), Value::of_integer(1)};
      int64_t last = 0;
      TestEdit increment([](Row, Draft &next) {
        next.add(1, Value::of_integer(1), false);
        return Decision::write;
      });
      TestEdit erase([&last](Row now, Draft &) {
        last = now[1].integer();
        return Decision::erase;
      });
      const Insert insert{values, OnDuplicate::decide, &increment, true};
      const std::string text = std::to_string(values[0].natural());
      const Value key = Value::of(text);
      const EditRows rows{{.key = {&key, 1}}, &erase, false, true};
      Op op;
      op.slot = &slot;
      const bool erases = seed / 1'048'576 % 3 == 0;
      op.verb = erases ? Verb::edit : Verb::insert;
      if (erases) op.edit = &rows;
      else op.insert = &insert;
      run_to_the_end(*executor, std::move(op), reply);
      EXPECT_EQ(reply.failure, Failure::none) << failure_name(reply.failure) << reply.message;
      if (!erases) ++added;
      if (erases && reply.changed != 0) erased += last;
    }
    slot.clear();
    --running;
  };
  std::vector<std::thread> threads;
  for (const uint32_t seed : {1u, 2u}) threads.emplace_back(count, seed);
  threads.emplace_back([&] {
    Coprocess other;
    EXPECT_TRUE(other.run("USE contract"));
    for (int i = 0; running != 0; ++i) EXPECT_TRUE(other.run("CALL take(" + std::to_string(i % keys) + ")"));
  });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT " + std::to_string(erased) +
                " + (SELECT IFNULL(SUM(n), 0) FROM contract.counts) + (SELECT IFNULL(SUM(n), 0) FROM contract.taken)"),
            std::to_string(added) + "\n");
}

TEST_F(ServerTables, ErasesAWholeTableOrNothingOfIt) {
  sql("CREATE OR REPLACE TABLE contract.big (id INT PRIMARY KEY, v VARCHAR(20), parent INT, KEY (parent));"
      "USE contract; INSERT INTO big SELECT seq, 'v', NULL FROM seq_1_to_5000;"
      "CREATE OR REPLACE TABLE child (id INT PRIMARY KEY, big INT, FOREIGN KEY (big) REFERENCES big (id));"
      "INSERT INTO child VALUES (1, 4000)");
  TableSlot &slot = keyed("big", {"id", "v"});
  HeardReply &refused = erase_all(slot);
  run_left_alone();
  EXPECT_EQ(refused.failure, Failure::engine_error);
  EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.big"), "5000\n");
  sql("DROP TABLE contract.child; ALTER TABLE contract.big ADD FOREIGN KEY (parent) REFERENCES big (id) ON DELETE "
      "CASCADE;"
      "UPDATE contract.big SET parent = IF(id % 2, id + 1, id - 1)");
  HeardReply &erased = erase_all(slot);
  run_left_alone();
  EXPECT_EQ(erased.failure, Failure::none) << erased.message;
  EXPECT_EQ(ask("SELECT COUNT(*) FROM contract.big"), "0\n");
  sql("DROP TABLE contract.big");
}

}  // namespace
}  // namespace postern::contract_test
