#include "engine/sql/texts/table_places.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::sql {
namespace {

bool same(Bytes left, Bytes right) {
  return left == right;
}

/// The text with each place in brackets; * if an alias follows.
std::string marked(Bytes text) {
  std::string marked;
  size_t at = 0;
  for (const TablePlace &place : places_of_table(text, "v", same)) {
    marked.append(text.substr(at, place.from - at)).append(1, '[');
    marked.append(text.substr(place.from, place.to - place.from)).append(place.aliased ? "*]" : "]");
    at = place.to;
  }
  return marked.append(text.substr(at));
}

TEST(TablePlaces, AreAfterFromAndJoin) {
  EXPECT_EQ(marked("SELECT * FROM v"), "SELECT * FROM [v]");
  EXPECT_EQ(marked("select v, v.v from v where v = 1"), "select v, v.v from [v] where v = 1");
  EXPECT_EQ(marked("SELECT 1 FROM a JOIN v ON v.x = a.x"), "SELECT 1 FROM a JOIN [v] ON v.x = a.x");
  EXPECT_EQ(marked("SELECT 1 FROM a STRAIGHT_JOIN v LEFT JOIN v w USING (v)"),
            "SELECT 1 FROM a STRAIGHT_JOIN [v] LEFT JOIN [v*] w USING (v)");
}

TEST(TablePlaces, AreBetweenCommasOfTablesAlone) {
  EXPECT_EQ(marked("SELECT a, v FROM a, v, v AS b, (c, v) WHERE x IN (1, v)"),
            "SELECT a, v FROM a, [v], [v*] AS b, (c, [v]) WHERE x IN (1, v)");
  EXPECT_EQ(marked("SELECT 1 FROM a WHERE b IN (v, v) GROUP BY a, v"),
            "SELECT 1 FROM a WHERE b IN (v, v) GROUP BY a, v");
  EXPECT_EQ(marked("SELECT 1 FROM (v JOIN a ON f(a, v) = 1)"), "SELECT 1 FROM ([v] JOIN a ON f(a, v) = 1)");
}

TEST(TablePlaces, AreInSelectsInside) {
  EXPECT_EQ(marked("SELECT (SELECT v FROM v), v FROM (SELECT v, a FROM a, v) v"),
            "SELECT (SELECT v FROM [v]), v FROM (SELECT v, a FROM a, [v]) v");
}

TEST(TablePlaces, MayNameTheirDatabase) {
  EXPECT_EQ(marked("SELECT 1 FROM `d`.`v`, d . v x, v.a"), "SELECT 1 FROM [`d`.`v`], [d . v*] x, v.a");
}

TEST(TablePlaces, AreInNoQuotesAndComments) {
  EXPECT_EQ(marked("SELECT ' FROM v' FROM a -- , v\n, v /* , v */ WHERE \"FROM v\" # FROM v"),
            "SELECT ' FROM v' FROM a -- , v\n, [v] /* , v */ WHERE \"FROM v\" # FROM v");
  EXPECT_EQ(marked("SELECT 1 FROM `v"), "SELECT 1 FROM `v");
  EXPECT_EQ(marked("SELECT 1 FROM `"), "SELECT 1 FROM `");
  EXPECT_EQ(marked(""), "");
}

TEST(TablePlaces, AreNoFunctions) {
  EXPECT_EQ(marked("SELECT EXTRACT(DAY FROM v(1)), TRIM('a' FROM v.x) FROM v"),
            "SELECT EXTRACT(DAY FROM v(1)), TRIM('a' FROM v.x) FROM [v]");
}

}  // namespace
}  // namespace postern::sql
