#include "engine/sql/texts/housekeeping.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::sql {
namespace {

TEST(Housekeeping, KnowsHowTransactionsBeginAndEnd) {
  for (const Bytes text : {"BEGIN", "begin work", " START  TRANSACTION;", "start transaction read only",
                           "/* a */ begin /* b */", "START TRANSACTION READ WRITE"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::begin) << text;
  for (const Bytes text : {"COMMIT", "commit work", "/* c */COMMIT/* d */;", "COMMIT AND NO CHAIN"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::commit) << text;
  for (const Bytes text : {"rollback", "ROLLBACK WORK", "ROLLBACK AND NO CHAIN NO RELEASE"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::roll_back) << text;
  for (const Bytes text : {"SAVEPOINT a", "savepoint `b c`;", "RELEASE SAVEPOINT a"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::savepoint) << text;
}

TEST(Housekeeping, KnowsWhatDriversSet) {
  for (const Bytes text :
       {"SET NAMES utf8mb4", "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'", "SET character_set_results = NULL",
        "set session transaction isolation level read committed",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET sql_mode='STRICT_TRANS_TABLES,NO_ZERO_DATE'",
        "SET SESSION sql_mode = 'ANSI', wait_timeout=28800",
        "SET NAMES utf8mb4,  @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), "
        "',NO_AUTO_VALUE_ON_ZERO'),  "
        "@@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483",
        "SET @a = 1, @b := 'x', @`c` = @a", "SET CHARACTER SET utf8", "SET sql_mode = STRICT_ALL_TABLES",
        "SET group_concat_max_len = 262144, `sql_mode` = ''", "SET foreign_key_checks=OFF",
        "SET max_statement_time = DEFAULT", "SET sql_select_limit = -1"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::set) << text;
  for (const Bytes text :
       {"SET autocommit=0", "SET NAMES utf8, @@session.autocommit = ON", "set local autocommit := 1"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::set_autocommit) << text;
}

TEST(Housekeeping, KnowsQuestionsAboutTheSession) {
  for (const Bytes text :
       {"SELECT 1",
        "select 1 from dual",
        "SELECT @@version_comment LIMIT 1",
        "SELECT DATABASE(), USER() LIMIT 1",
        "SELECT LAST_INSERT_ID() AS `id`",
        "SELECT ROW_COUNT() n",
        "SELECT @@session.tx_isolation, @@global.wait_timeout x",
        "/* mysql-connector-java-8 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, "
        "@@character_set_client AS character_set_client, @@sql_mode AS sql_mode",
        "SELECT CURRENT_USER",
        "SELECT 'a', NULL, -1.5, @a",
        "DO 1",
        "do @a, 2",
        "SELECT CONCAT(@@version, ' ', user())",
        "SELECT RELEASE_LOCK('cron')",
        "SELECT GET_LOCK('cron', 0)",
        "SELECT IF(GET_LOCK('a', 0),UNIX_TIMESTAMP(SYSDATE(6)),NULL) AS acquired",
        "SELECT NOW()",
        "DO IS_FREE_LOCK(CONCAT('a', @b))",
        "SELECT @@sql_big_selects LIMIT 1",
        "SELECT RELEASE_LOCK('site:tags|#|v') AS released",
        "SELECT '[{<!?&$^~>}]'"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::evaluate) << text;
  EXPECT_EQ(housekeeping_of("USE `test`"), Housekeeping::use);
  EXPECT_EQ(housekeeping_of("SHOW WARNINGS"), Housekeeping::warnings);
}

TEST(Housekeeping, KnowsTheLockThatATextAsksFor) {
  for (const Bytes text : {"SELECT GET_LOCK('a:b c', 5)", "select get_lock('a:b c', 0.5) AS `got`;",
                           "SELECT IF(GET_LOCK('a:b c', 10),UNIX_TIMESTAMP(SYSDATE(6)),NULL) AS acquired",
                           "/* MediaWiki */ SELECT IF(GET_LOCK('a:b c', 1), 1, 0)"}) {
    Bytes lock;
    EXPECT_EQ(housekeeping_of(text, lock), Housekeeping::lock) << text;
    EXPECT_EQ(lock, "a:b c") << text;
  }
  const std::string long_name = "SELECT GET_LOCK('" + std::string(65, 'a') + "', 5)";
  for (const Bytes text :
       {Bytes("SELECT GET_LOCK('', 5)"), Bytes("SELECT GET_LOCK('a' 'b', 5)"), Bytes("SELECT GET_LOCK('a', -5)"),
        Bytes("SELECT GET_LOCK('a', 5), 1"), Bytes("SELECT GET_LOCK('a', 5) LIMIT 0"),
        Bytes("SELECT IF(1, GET_LOCK('a', 5), 1)"), Bytes("SELECT IF(GET_LOCK('a', 5), GET_LOCK('b', 5), 1)"),
        Bytes("SELECT IF(GET_LOCK('a', 5), SLEEP(1), 1)"), Bytes("SELECT IF(GET_LOCK('a', 5) = 1, 1, 1)"),
        Bytes("SELECT GET_LOCK(x'61', 5)"), Bytes("SELECT GET_LOCK('a\\'', 5)"), Bytes(long_name),
        Bytes("SELECT GET_LOCK('a', 5) FROM t")}) {
    Bytes lock;
    EXPECT_EQ(housekeeping_of(text, lock), Housekeeping::none) << text;
    EXPECT_EQ(lock, "") << text;
  }
}

TEST(Housekeeping, LeavesAllThatMayWait) {
  for (const Bytes text : {"",
                           ";",
                           "SELECT",
                           "SELECT a",
                           "SELECT 1 FROM t",
                           "SELECT SLEEP(1)",
                           "SELECT f()",
                           "SELECT `database`()",
                           "SELECT test.user()",
                           "SELECT GET_LOCK('a', @a)",
                           "SELECT GET_LOCK('a')",
                           "SELECT (SELECT 1)",
                           "SELECT 1; SELECT 2",
                           "SELECT 1 FOR UPDATE",
                           "SELECT @a := 1",
                           "SELECT @@innodb_version",
                           "SELECT 1 UNION SELECT 2",
                           "SELECT 1 INTO @a",
                           "SELECT 'a\\'",
                           "SELECT 'a''b'",
                           "SELECT \"a\"",
                           "SELECT /*! SLEEP(1) */ 1",
                           "SELECT /*M!100000 SLEEP(1) */ 1",
                           "SELECT 1 /* ",
                           "SELECT 1 -- a",
                           "SET GLOBAL wait_timeout = 1",
                           "SET @@global.wait_timeout = 1",
                           "SET time_zone = '+00:00'",
                           "SET @a = SLEEP(1)",
                           "SET @a = (SELECT 1)",
                           "SET wait_timeout = f()",
                           "SET PASSWORD = 'a'",
                           "SET ROLE a",
                           "SET STATEMENT wait_timeout=1 FOR DO 1",
                           "SET GLOBAL TRANSACTION READ ONLY",
                           "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                           "START SLAVE",
                           "COMMIT AND CHAIN",
                           "COMMIT RELEASE",
                           "ROLLBACK TO SAVEPOINT a",
                           "ROLLBACK TO a",
                           "BEGIN NOT ATOMIC DO 1; END",
                           "DO SLEEP(1)",
                           "DO 1 + 1",
                           "USE",
                           "USE a b",
                           "SHOW WARNINGS LIMIT 1",
                           "SHOW TABLES",
                           "XA BEGIN 'a'",
                           "SELECT 1abc"})
    EXPECT_EQ(housekeeping_of(text), Housekeeping::none) << text;
  EXPECT_EQ(housekeeping_of("DO 1" + std::string(housekeeping_bytes_max, ' ')), Housekeeping::none);
  EXPECT_EQ(housekeeping_of("SELECT CONCAT(CONCAT(CONCAT(CONCAT(CONCAT('a')))))"), Housekeeping::none);
}

}  // namespace
}  // namespace postern::sql
