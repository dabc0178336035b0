#include "sqldoor/normalise.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace postern::sqldoor {
namespace {

std::string told(const Value &value) {
  if (value.kind() == Value::Kind::natural) return std::to_string(value.natural()) + "u";
  if (value.kind() != Value::Kind::bytes) return std::to_string(value.integer());
  switch (value.spelling()) {
    case Value::Spelling::text: return "'" + std::string(value.bytes()) + "'";
    case Value::Spelling::binary: return "bytes '" + std::string(value.bytes()) + "'";
    case Value::Spelling::decimal: return "decimal " + std::string(value.bytes());
    case Value::Spelling::real: return "real " + std::string(value.bytes());
  }
  return {};
}

/// The form and the values, or "refused".
std::string told(Bytes text, TextRules rules = {}) {
  NormalText normal;
  if (!normal.read(text, rules)) return "refused";
  std::string told(normal.form());
  for (const Value &value : normal.values()) {
    told += " | ";
    told += sqldoor::told(value);
  }
  return told;
}

void check(std::initializer_list<std::pair<Bytes, Bytes>> examples) {
  for (const auto &[text, form] : examples) EXPECT_EQ(told(text), form) << text;
}

TEST(Normalise, TakesWhatColumnsAreComparedWith) {
  check({{"SELECT a FROM t WHERE id = 42", "SELECT a FROM t WHERE id = ? | 42"},
         {"SELECT a FROM t WHERE id=42 AND n='x y'", "SELECT a FROM t WHERE id=? AND n=? | 42 | 'x y'"},
         {"SELECT a FROM t WHERE id IN (1, 2,'3')", "SELECT a FROM t WHERE id IN (?, ?,?) | 1 | 2 | '3'"},
         {"SELECT a FROM t WHERE id >= 1 AND id<2 AND b<>'' AND c != 3",
          "SELECT a FROM t WHERE id >= ? AND id<? AND b<>? AND c != ? | 1 | 2 | '' | 3"},
         {"SELECT a FROM t WHERE id BETWEEN 1 AND 5 AND n LIKE 'p%'",
          "SELECT a FROM t WHERE id BETWEEN ? AND ? AND n LIKE ? | 1 | 5 | 'p%'"},
         {"SELECT a FROM t WHERE ((id = (7)))", "SELECT a FROM t WHERE ((id = (?))) | 7"},
         {"select a from t where id=1 limit 5,10", "select a from t where id=? limit ?,? | 1 | 5 | 10"},
         {"SELECT a FROM t WHERE id=1 LIMIT 5 OFFSET 10", "SELECT a FROM t WHERE id=? LIMIT ? OFFSET ? | 1 | 5 | 10"}});
}

TEST(Normalise, KnowsWhetherATextIsOfRows) {
  NormalText text;
  const auto facts = [&text](Bytes bytes) {
    EXPECT_TRUE(text.read(bytes, {})) << bytes;
    return text.facts();
  };
  for (const Bytes read : {"SELECT a FROM t", "/* a */ select 1 from`t`", "(SELECT 1) UNION (SELECT a FROM t)"}) {
    EXPECT_TRUE(facts(read).of_rows) << read;
    EXPECT_FALSE(facts(read).changes) << read;
  }
  for (const Bytes change :
       {"UPDATE t SET a = 1", "insert into t values (1)", "REPLACE t VALUES (1)", "DELETE FROM t"}) {
    EXPECT_TRUE(facts(change).of_rows) << change;
    EXPECT_TRUE(facts(change).changes) << change;
  }
  for (const Bytes none : {"SELECT 1", "SELECT 'a from t'", "SELECT 1 FROM DUAL", "select `from` from dual limit 1"}) {
    EXPECT_FALSE(facts(none).of_rows) << none;
    EXPECT_FALSE(facts(none).changes) << none;
  }
  EXPECT_EQ(facts("SELECT a FROM t WHERE id = 1").kind, facts("SELECT a FROM t WHERE id = 22").kind);
  EXPECT_NE(facts("SELECT a FROM t WHERE id = 1").kind, facts("SELECT b FROM t WHERE id = 1").kind);
}

TEST(Normalise, LeavesLiteralsThatAreTheStatement) {
  check({{"SELECT 1, 'x' FROM t WHERE id=3", "SELECT 1, 'x' FROM t WHERE id=? | 3"},
         {"SELECT a FROM t WHERE id=3 AND 1=1", "SELECT a FROM t WHERE id=? AND 1=1 | 3"},
         {"SELECT a FROM t WHERE (1=1) AND id=3", "SELECT a FROM t WHERE (1=1) AND id=? | 3"},
         {"SELECT a FROM t WHERE id=3 ORDER BY 1, 2", "SELECT a FROM t WHERE id=? ORDER BY 1, 2 | 3"},
         {"SELECT a FROM t WHERE f(5) = 3", "SELECT a FROM t WHERE f(5) = ? | 3"},
         {"SELECT a FROM t WHERE d = DATE '2020-01-01'", "SELECT a FROM t WHERE d = DATE '2020-01-01'"},
         {"SELECT a FROM t WHERE a LIKE 'x' ESCAPE '!'", "SELECT a FROM t WHERE a LIKE ? ESCAPE '!' | 'x'"}});
}

TEST(Normalise, TakesWhatColumnsGet) {
  check(
      {{"UPDATE t SET a = 1, b='x', c = NULL WHERE id=3", "UPDATE t SET a = ?, b=?, c = NULL WHERE id=? | 1 | 'x' | 3"},
       {"update t set a = a + 5, b=b-6 where id=3", "update t set a = a + ?, b=b-? where id=? | 5 | 6 | 3"},
       {"DELETE FROM t WHERE id = 3 AND b = 'x'", "DELETE FROM t WHERE id = ? AND b = ? | 3 | 'x'"},
       {"INSERT INTO t (a, b) VALUES (1,'x'), (-2, DEFAULT)",
        "INSERT INTO t (a, b) VALUES (?,?), (?, DEFAULT) | 1 | 'x' | -2"},
       {"INSERT INTO t VALUE (NULL, 7)", "INSERT INTO t VALUE (NULL, ?) | 7"},
       {"INSERT INTO t SET a = 4", "INSERT INTO t SET a = ? | 4"},
       {"INSERT INTO t (a, b) VALUES (1, 'x') ON DUPLICATE KEY UPDATE a = a + 2, b = VALUES(b)",
        "INSERT INTO t (a, b) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = a + ?, b = VALUES(b) | 1 | 'x' | 2"},
       {"replace into t (a) values (4)", "replace into t (a) values (?) | 4"},
       {"REPLACE t SET a=1", "REPLACE t SET a=? | 1"}});
}

TEST(Normalise, NegativeNumbersAreOneLiteralWhereOneIsWanted) {
  check({{"SELECT a FROM t WHERE id = -5", "SELECT a FROM t WHERE id = ? | -5"},
         {"SELECT a FROM t WHERE id IN (-5,-6)", "SELECT a FROM t WHERE id IN (?,?) | -5 | -6"},
         {"SELECT a FROM t WHERE id = a-5", "SELECT a FROM t WHERE id = a-5"},
         {"SELECT a FROM t WHERE id = 7-5", "SELECT a FROM t WHERE id = ?-5 | 7"},
         {"SELECT a FROM t WHERE id = - 5", "SELECT a FROM t WHERE id = - 5"},
         {"SELECT a FROM t WHERE id = 1 LIMIT -1", "SELECT a FROM t WHERE id = ? LIMIT -1 | 1"},
         {"SELECT a FROM t WHERE id = --5", "refused"}});
}

TEST(Normalise, IntegersHaveSixtyFourBits) {
  check({{"SELECT a FROM t WHERE a=1234567890123456789", "SELECT a FROM t WHERE a=? | 1234567890123456789"},
         {"SELECT a FROM t WHERE a=9223372036854775807", "SELECT a FROM t WHERE a=? | 9223372036854775807"},
         {"SELECT a FROM t WHERE a=9223372036854775808", "SELECT a FROM t WHERE a=? | 9223372036854775808u"},
         {"SELECT a FROM t WHERE a=18446744073709551615", "SELECT a FROM t WHERE a=? | 18446744073709551615u"},
         {"SELECT a FROM t WHERE a=-9223372036854775808", "SELECT a FROM t WHERE a=? | -9223372036854775808"},
         {"SELECT a FROM t WHERE a=00000000000000000007", "SELECT a FROM t WHERE a=? | 7"}});
}

TEST(Normalise, BlanksAndCommentsAfterFromAreOneBlank) {
  check({{"  SELECT /* A::b */ a FROM\n t\t  WHERE id = 1 /* trace='x' */ ; ; \n", "SELECT a FROM t WHERE id = ? | 1"},
         {"/* A::b */ SELECT a FROM t/**/WHERE id = 1", "SELECT a FROM t WHERE id = ? | 1"},
         {"SELECT/* A::b */a FROM t", "SELECT a FROM t"}});
  // An unnamed column is called by the text of its expression.
  check({{"SELECT  COUNT( * )  FROM t WHERE a=1", "SELECT  COUNT( * )  FROM t WHERE a=? | 1"},
         {"SELECT a /* x */, b FROM t", "refused"}});
}

TEST(Normalise, NamesAreKept) {
  check({{"SELECT `a 'b' 1` FROM `t``1` WHERE `t``1`.`limit` = 5",
          "SELECT `a 'b' 1` FROM `t``1` WHERE `t``1`.`limit` = ? | 5"},
         {"SELECT a FROM d.t WHERE t.from = 5 AND t1.b2 = 3",
          "SELECT a FROM d.t WHERE t.from = ? AND t1.b2 = ? | 5 | 3"}});
  EXPECT_EQ(told("SELECT a FROM t WHERE \"id\" = 5", {.ansi_quotes = true}), "SELECT a FROM t WHERE \"id\" = ? | 5");
  EXPECT_EQ(told("SELECT a FROM t WHERE id = \"x\"", {.ansi_quotes = true}), "SELECT a FROM t WHERE id = \"x\"");
  check({{"SELECT a FROM t WHERE id = \"x\"", "SELECT a FROM t WHERE id = ? | 'x'"},
         {"SELECT a FROM t WHERE größe = 5", "SELECT a FROM t WHERE größe = ? | 5"}});
}

TEST(Normalise, VariablesOfUsersAreKept) {
  check({{"SELECT a FROM t WHERE id = @a_1 AND b = 5", "SELECT a FROM t WHERE id = @a_1 AND b = ? | 5"},
         {"SELECT a FROM t WHERE id IN (@a,5)", "SELECT a FROM t WHERE id IN (@a,?) | 5"},
         {"INSERT INTO t (a, b) VALUES (@a, 5)", "INSERT INTO t (a, b) VALUES (@a, ?) | 5"},
         {"UPDATE t SET a = @a, b = b + @b WHERE id = 5", "UPDATE t SET a = @a, b = b + @b WHERE id = ? | 5"}});
}

TEST(Normalise, OddTextsAreRefused) {
  for (const char *text : {
           "",
           "SELEC",
           "SELECTa FROM t",
           "SHOW TABLES",
           "SELECT a FROM t WHERE id = ?",
           "SELECT @a FROM t",
           "SELECT a FROM t WHERE id = @@a",
           "SELECT a FROM t WHERE id = @'a'",
           "SELECT a FROM t WHERE id = @`a`",
           "SELECT a FROM t WHERE id = @a.b",
           "SELECT a FROM t WHERE id = @ä",
           "SELECT a FROM t WHERE id = @a := 5",
           "SELECT a FROM t WHERE @a = 5",
           "SELECT a FROM t LIMIT @a",
           "SELECT /*! STRAIGHT_JOIN */ a FROM t",
           "SELECT a FROM t /*M! x */",
           "SELECT a FROM t /*+ x */",
           "SELECT a FROM t /* x",
           "SELECT a FROM t WHERE a='x",
           "SELECT a FROM t WHERE a='x' 'y'",
           "SELECT a FROM t WHERE a='x' /* */ 'y'",
           "SELECT 'it''s' FROM t",
           "SELECT a FROM t WHERE f('it''s') = 1",
           "SELECT a FROM t WHERE a='x\\'",
           "SELECT a FROM t WHERE a='x\\",
           "SELECT a FROM t WHERE a='x''",
           "SELECT a FROM t WHERE a='x''' 'y'",
           "SELECT a FROM t WHERE a=_latin1'x'",
           "SELECT a FROM t WHERE a=N'x''y'",
           "SELECT a FROM t WHERE a=_utf8mb4'x\\'",
           "SELECT a FROM t WHERE a=_utf8'ü'",
           "SELECT a FROM t WHERE a=DATE\"2020-01-01\"",
           "SELECT a FROM t WHERE a=TIME'10:00:00'",
           "SELECT a FROM t WHERE a='x' _utf8mb4'y'",
           "SELECT _latin1'it''s' FROM t",
           "SELECT f'x' FROM t",
           "UPDATE t SET a=DATE'2020-01-01'",
           "UPDATE t SET a = a * 1.5",
           "SELECT 1.5x FROM t",
           "(UPDATE t SET a = 1)",
           "(SELECT a FROM t WHERE b=1",
           "( SELECT a FROM t WHERE b=1)",
           "(SELECT a FROM t WHERE b=1))",
           "SELECT 1e FROM t",
           "SELECT 1.5.5 FROM t",
           "SELECT t.1e3 FROM t",
           "SELECT a FROM t WHERE a=_binary'x",
           "SELECT a FROM t WHERE a=x'4'",
           "SELECT a FROM t WHERE a=x'4g'",
           "SELECT a FROM t WHERE a=x''",
           "SELECT a FROM t WHERE a=x'41",
           "SELECT a FROM t WHERE a=x\"41\"",
           "SELECT a FROM t WHERE a=0x4",
           "SELECT a FROM t WHERE a=0X41",
           "SELECT a FROM t WHERE a=0x41g",
           "SELECT a FROM t WHERE a=0x",
           "SELECT a FROM t WHERE a=b'1'",
           "SELECT a FROM t WHERE a=0b1",
           "SELECT a FROM t WHERE a=1e",
           "SELECT a FROM t WHERE a=1e+",
           "SELECT a FROM t WHERE a=1e300",
           "SELECT a FROM t WHERE a=1.5.5",
           "SELECT a FROM t WHERE a=1.5x",
           "SELECT a FROM t WHERE a=1.x",
           "SELECT a FROM t WHERE a=-0.0",
           "SELECT a FROM t WHERE a=-0e5",
           "SELECT a FROM t WHERE a=.5",
           "SELECT a FROM t WHERE a=1.",
           "SELECT a FROM t -- x",
           "SELECT a FROM t # x",
           "SELECT a FROM t; SELECT 2",
           "SELECT a FROM t WHERE (id=1",
           "SELECT a FROM t WHERE id=1)",
           "SELECT a FROM t WHERE a=18446744073709551616",
           "SELECT a FROM t WHERE a=-9223372036854775809",
           "SELECT a FROM t WHERE a=000000000000000000001",
           "SELECT a FROM t WHERE a=-0",
           "SELECT a FROM `t",
           "SELECT a FROM t WHERE a=:a",
           "SELECT a FROM t WHERE a=1; -- x",
           "SELECT a FROM t; /* x */",
           "SELECT a FROM t WHERE a=5AND b=6",
           "SELECT a FROM t WHERE id = {d '2020-01-01'}",
           "SELECT a FROM t WHERE id ^ 1",
       }) {
    EXPECT_EQ(told(text), "refused") << text;
  }
  EXPECT_EQ(told(Bytes("SELECT a FROM t WHERE a='\0'", 26)), "refused");
  EXPECT_EQ(told("SELECT a FROM t WHERE a='ü'", {.safe_characters = false}), "refused");
  EXPECT_EQ(told("SELECT `ü` FROM t", {.safe_characters = false}), "refused");
}

TEST(Normalise, LiteralsOfOtherKindsStayAsTheyAreWritten) {
  check({{"SELECT 1.5, a * 2e-3, .5e1 FROM t", "refused"},
         {"SELECT 1.5, a * 2e-3, 5. FROM t WHERE f(1.25) = 1", "SELECT 1.5, a * 2e-3, 5. FROM t WHERE f(1.25) = ? | 1"},
         {"SELECT _binary'x', N'y', x'41', DATE'2020-01-01' FROM t WHERE f(TIME'10:00:00') = 1",
          "SELECT _binary'x', N'y', x'41', DATE'2020-01-01' FROM t WHERE f(TIME'10:00:00') = ? | 1"},
         {"((SELECT a FROM t WHERE b=1 LIMIT 2)) UNION (SELECT c, 5 FROM t WHERE c IN (3,4)) LIMIT 5",
          "((SELECT a FROM t WHERE b=? LIMIT ?)) UNION (SELECT c, 5 FROM t WHERE c IN (?,?)) LIMIT ?"
          " | 1 | 2 | 3 | 4 | 5"},
         {"SELECT a FROM t WHERE a=DATE'2020-01-01' AND b>timestamp'2020-01-01 10:00:00'",
          "SELECT a FROM t WHERE a=? AND b>? | real DATE'2020-01-01' | real timestamp'2020-01-01 10:00:00'"},
         {"SELECT a FROM t WHERE a IN (_utf8mb4'ü', N'x', _UTF8'y', _utf8mb3'')",
          "SELECT a FROM t WHERE a IN (?, ?, ?, ?) | real _utf8mb4'ü' | real N'x' | real _UTF8'y' | real _utf8mb3''"}});
}

TEST(Normalise, TextsAreReadAsTheServersLexerReadsThem) {
  const auto text = [](Bytes literal, TextRules rules = {}) {
    return told("UPDATE t SET a=" + std::string(literal) + " WHERE b=1", rules);
  };
  const auto value = [](Bytes bytes) { return "UPDATE t SET a=? WHERE b=? | '" + std::string(bytes) + "' | 1"; };
  EXPECT_EQ(text("'it''s'"), value("it's"));
  EXPECT_EQ(text("''''"), value("'"));
  EXPECT_EQ(text("'\"'"), value("\""));
  EXPECT_EQ(text("\"it's \"\"\""), value("it's \""));
  EXPECT_EQ(text(R"('a\'b\"c\\d')"), value(R"(a'b"c\d)"));
  EXPECT_EQ(text(R"('\n\t\r\b\Z')"), value("\n\t\r\b\x1a"));
  EXPECT_EQ(text(R"('a\0b')"), value(Bytes("a\0b", 3)));
  EXPECT_EQ(text(R"('\%\_\a\N\ü')"), value(R"(\%\_aNü)"));
  EXPECT_EQ(text(R"('a\\')"), value("a\\"));
  EXPECT_EQ(text(R"('a\''b')", {.backslash_escapes = false}), value(R"(a\'b)"));
  EXPECT_EQ(text(R"('a\')", {.backslash_escapes = false}), value(R"(a\)"));
  EXPECT_EQ(text("'it''s'", {.safe_characters = false}), value("it's"));
  EXPECT_EQ(text(R"('a\\')", {.safe_characters = false}), "refused");
  EXPECT_EQ(told("INSERT INTO t VALUES ('a''', 'b', 'c\\n', '')"),
            "INSERT INTO t VALUES (?, ?, ?, ?) | 'a'' | 'b' | 'c\n' | ''");
}

TEST(Normalise, BytesAndNumbersWithFractionsAreKeptApartFromTexts) {
  EXPECT_EQ(told("UPDATE t SET a=x'4142', b=X'6a6B', c=0x6162 WHERE d=_binary'a\\0b'"),
            "UPDATE t SET a=?, b=?, c=? WHERE d=? | bytes 'AB' | bytes 'jk' | bytes 'ab' | bytes '" +
                std::string("a\0b", 3) + "'");
  EXPECT_EQ(told("UPDATE t SET a=_BINARY\"x\""), "UPDATE t SET a=? | bytes 'x'");
  EXPECT_EQ(told("UPDATE t SET a=_binary\"x\"", {.ansi_quotes = true}), "refused");
  EXPECT_EQ(told("INSERT INTO t VALUES (1.5, -0.25,1e3,-1.5E-3, 2e+5)"),
            "INSERT INTO t VALUES (?, ?,?,?, ?) | decimal 1.5 | decimal -0.25 | real 1e3 | real -1.5E-3 | real 2e+5");
}

TEST(Normalise, IsBounded) {
  const std::string nested = "SELECT a FROM t WHERE " + std::string(40, '(') + "id=1" + std::string(40, ')');
  EXPECT_EQ(told(nested), "refused");
  std::string list = "SELECT a FROM t WHERE id IN (1";
  for (size_t i = 1; i < NormalText::values_max; ++i) list += ",1";
  EXPECT_NE(told(list + ")"), "refused");
  EXPECT_EQ(told(list + ",1)"), "refused");
  EXPECT_EQ(told("SELECT a FROM t WHERE b='" + std::string(NormalText::text_bytes_max, 'x') + "'"), "refused");
}

TEST(Normalise, EqualFormsHaveEqualHashes) {
  NormalText one;
  NormalText two;
  ASSERT_TRUE(one.read("SELECT a FROM t WHERE id = 1", {}));
  ASSERT_TRUE(two.read("SELECT a FROM t  WHERE id = 234", {}));
  EXPECT_EQ(one.form(), two.form());
  EXPECT_EQ(one.hash(), two.hash());
  ASSERT_TRUE(two.read("SELECT a FROM t WHERE id < 1", {}));
  EXPECT_NE(one.hash(), two.hash());
}

}  // namespace
}  // namespace postern::sqldoor
