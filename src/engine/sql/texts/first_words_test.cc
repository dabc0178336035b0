#include "engine/sql/texts/first_words.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::sql {
namespace {

TEST(FirstWordsTest, TextsOfOneKindDifferInNumbersAlone) {
  const uint64_t kind = kind_of_text("SELECT a FROM t WHERE id = 42 LIMIT 10");
  EXPECT_EQ(kind, kind_of_text("SELECT a FROM t WHERE id = 7 LIMIT 1000"));
  EXPECT_NE(kind, kind_of_text("SELECT b FROM t WHERE id = 42 LIMIT 10"));
  EXPECT_NE(kind, kind_of_text("SELECT a FROM t WHERE id = x LIMIT 10"));
  EXPECT_NE(kind_of_text("t1"), kind_of_text("t"));
  // Wherever the number is, and whatever is in the bytes next to it.
  for (size_t before = 0; before < 20; ++before) {
    const std::string from = std::string(before, 'a');
    const std::string after = " = b:c;d<e>f?g and more of them";
    EXPECT_EQ(kind_of_text(from + "1" + after), kind_of_text(from + "2345678901" + after)) << before;
    EXPECT_NE(kind_of_text(from + "1" + after), kind_of_text(from + "1" + "x" + after)) << before;
    EXPECT_NE(kind_of_text(from + after), kind_of_text(from + "1" + after)) << before;
  }
}

TEST(FirstWordsTest, TheKindIsOfTheBeginning) {
  const std::string beginning(96, 'x');
  EXPECT_EQ(kind_of_text(beginning + "a"), kind_of_text(beginning + "b"));
  EXPECT_NE(kind_of_text(std::string(95, 'x') + "a"), kind_of_text(std::string(95, 'x') + "b"));
}

TEST(FirstWordsTest, ReadsCommitNothing) {
  for (const Bytes text : {"SELECT 1", "select 1", "  \n(SELECT 1)", "/* a */ select 1", "/**/(/* b */select 1)",
                           "SHOW TABLES", "DO 1", "USE shop", "DESC t", "WITH a AS (SELECT 1) SELECT * FROM a"}) {
    EXPECT_FALSE(FirstWord(text).may_commit(false)) << text;
    EXPECT_FALSE(FirstWord(text).may_commit(true)) << text;
  }
}

TEST(FirstWordsTest, ChangesCommitOutsideOfATransaction) {
  for (const Bytes text : {"UPDATE t SET a = 1", "insert into t values (1)", "DELETE FROM t", "Replace t VALUES (1)"}) {
    EXPECT_TRUE(FirstWord(text).may_commit(false)) << text;
    EXPECT_FALSE(FirstWord(text).may_commit(true)) << text;
  }
}

TEST(FirstWordsTest, SettingAutocommitCommitsATransaction) {
  EXPECT_FALSE(FirstWord("SET autocommit = 1").may_commit(false));
  EXPECT_TRUE(FirstWord("SET autocommit = 1").may_commit(true));
}

TEST(FirstWordsTest, AnythingElseMayCommit) {
  for (const Bytes text : {"COMMIT", "CALL p()", "CREATE TABLE t (a INT)", "", "selects 1", "/*! select 1 */",
                           "/*M!100100 select 1 */", "/* select 1"})
    EXPECT_TRUE(FirstWord(text).may_commit(true)) << text;
}

TEST(FirstWordsTest, FilesAreAskedOfClients) {
  EXPECT_TRUE(FirstWord("LOAD DATA LOCAL INFILE 'f' INTO TABLE t").asks_client());
  EXPECT_TRUE(FirstWord("/* a file */ load data infile 'f' into table t").asks_client());
  EXPECT_FALSE(FirstWord("INSERT INTO loads VALUES (1)").asks_client());
}

TEST(FirstWordsTest, DefinitionsAndLocksWantTables) {
  for (const Bytes text : {"ALTER TABLE t ADD a INT", "create table t (a int)", "DROP TABLE t", "TRUNCATE t",
                           "RENAME TABLE t TO u", "FLUSH TABLES", "LOCK TABLES t READ", "OPTIMIZE TABLE t"})
    EXPECT_TRUE(FirstWord(text).wants_tables()) << text;
  for (const Bytes text : {"SELECT 1", "UPDATE t SET a = 1", "", "UNLOCK TABLES", "/*! ALTER TABLE t ADD a INT */"})
    EXPECT_FALSE(FirstWord(text).wants_tables()) << text;
}

}  // namespace
}  // namespace postern::sql
