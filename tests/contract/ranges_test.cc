// Finds with two bounds, and by the beginning of a text, compared with SQL's answers: BETWEEN, LIKE 'p%', ORDER BY DESC
// and LIMIT, over random rows of many types and collations, in whole and in partitioned tables.
#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "server_fixture.h"

namespace postern::contract_test {
namespace {

using Texts = std::vector<std::string>;

Texts split(const std::string &text, char separator) {
  Texts parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789ABCDEF"[byte >> 4];
    text += "0123456789ABCDEF"[byte & 15];
  }
  return text;
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

class ServerRanges : public ExecutorTest<ServerFixture> {
 protected:
  void sql(const std::string &statements) { ASSERT_TRUE(fixture_.sql.run(statements)) << statements; }
  Texts ask(const std::string &statement) { return split(fixture_.sql.ask(statement), '\n'); }

  const std::string &any_of(const Texts &texts) { return texts[random_() % texts.size()]; }
  /// Up to so many texts, joined.
  std::string joined(const Texts &texts, size_t count) {
    std::string text;
    for (size_t i = random_() % (count + 1); i != 0; --i) text += any_of(texts);
    return text;
  }
  /// The rows of a find in the slow lane, with pauses or without.
  Texts found(TableSlot &slot, const Find &find) { return firsts_with_pauses(slot, find, random_() % 4); }

  void compare_prefixes(const std::string &charset, const std::string &collation, const std::string &options);
  void compare_ranges(const std::string &type, const Texts &values, const std::string &options);

  std::mt19937 random_{2010};
};

/// Letters with special collation rules: contractions, expansions, letters that are ignored or sort below a space.
const Texts letters = {"a", "A",        "b", "c",        "C",  "h",        "ch", "Ch", "l",        "ll",
                       "z", "\xC5\xBE", "s", "\xC3\x9F", "ss", "\xC3\xA5", "aa", "e",  "\xC3\xA9", "\xCC\x81",
                       " ", "\t",       "%", "_",        "\\", "1",        "dz", "d"};

void ServerRanges::compare_prefixes(const std::string &charset, const std::string &collation,
                                    const std::string &options) {
  SCOPED_TRACE(collation + " " + options);
  executor_->idle();  // which makes room for DDL
  const std::string type = "VARCHAR(8) CHARACTER SET " + charset + " COLLATE " + collation;
  sql("CREATE OR REPLACE TABLE contract.texts (id INT AUTO_INCREMENT PRIMARY KEY, k " + type +
      ", g INT, KEY k (k), KEY gk (g, k), KEY part (k(3)), KEY down (k DESC)) " + options);
  sql("CREATE OR REPLACE TABLE contract.prefixes (id INT AUTO_INCREMENT PRIMARY KEY, p " + type + ")");
  std::string rows = "(NULL)";
  for (int i = 0; i < 150; ++i)
    rows += ", (LEFT(CONVERT(_utf8mb4 X'" + hex(joined(letters, 6)) + "' USING " + charset + "), 8))";
  // Characters that the character set lacks become question marks.
  sql("SET sql_mode = ''; INSERT INTO contract.texts (k) VALUES " + rows + "; UPDATE contract.texts SET g = id % 3");
  sql("INSERT INTO contract.prefixes (p) SELECT DISTINCT LEFT(k, id % 4) FROM contract.texts WHERE k IS NOT NULL LIMIT "
      "40");
  const std::string escaped = "REPLACE(REPLACE(REPLACE(p, '\\\\', '\\\\\\\\'), '%', '\\\\%'), '_', '\\\\_')";
  const Texts answers =
      ask("SET group_concat_max_len = 1000000; SELECT HEX(p), IFNULL(GROUP_CONCAT(t.id ORDER BY k, t.id), '') FROM "
          "contract.prefixes AS p LEFT JOIN contract.texts AS t IGNORE INDEX (k, gk, part, down) ON k LIKE CONCAT(" +
          escaped + ", '%') GROUP BY p.id");
  ASSERT_GT(answers.size(), 10u);
  TableSlot &by_k = opened({"contract", "texts", "k", {"id"}});
  TableSlot &by_gk = opened({"contract", "texts", "gk", {"id"}});
  TableSlot &by_part = opened({"contract", "texts", "part", {"id"}});
  TableSlot &by_down = opened({"contract", "texts", "down", {"id"}});
  for (const std::string &answer : answers) {
    SCOPED_TRACE(answer);
    const size_t tab = answer.find('\t');
    const std::string prefix = unhex(answer.substr(0, tab));
    const Texts expected = split(answer.substr(tab + 1), ',');
    Texts backwards(expected.rbegin(), expected.rend());
    const Value key[] = {Value::of(prefix)};
    Find find{.comparison = Comparison::at_least, .key = key, .limit = 1'000, .prefix = true};
    EXPECT_EQ(found(by_k, find), expected);
    if (options.empty()) {
      EXPECT_EQ(sorted(found(by_part, find)), sorted(expected));
    } else {
      const HeardReply &refused = this->find(by_part, find);
      run_all();
      EXPECT_EQ(refused.failure, Failure::index_unusable);
    }
    EXPECT_EQ(sorted(found(by_down, find)), sorted(expected));
    find.comparison = Comparison::at_most;
    if (options.empty()) {
      EXPECT_EQ(found(by_k, find), backwards);
      EXPECT_EQ(sorted(found(by_part, find)), sorted(expected));
    } else {
      EXPECT_EQ(sorted(found(by_k, find)), sorted(expected));
    }
    EXPECT_EQ(sorted(found(by_down, find)), sorted(expected));
    const Value two[] = {Value::of("1"), Value::of(prefix)};
    find = {.comparison = Comparison::at_least, .key = two, .limit = 1'000, .prefix = true};
    Texts thirds = expected;
    std::erase_if(thirds, [](const std::string &id) { return std::stoi(id) % 3 != 1; });
    EXPECT_EQ(found(by_gk, find), thirds);
  }
}

TEST_F(ServerRanges, PrefixesAreThoseOfLike) {
  const std::pair<const char *, const char *> collations[] = {
      {"utf8mb4", "utf8mb4_general_ci"},   {"utf8mb4", "utf8mb4_unicode_ci"},
      {"utf8mb4", "utf8mb4_bin"},          {"utf8mb4", "utf8mb4_nopad_bin"},
      {"utf8mb4", "utf8mb4_czech_ci"},     {"utf8mb4", "utf8mb4_danish_ci"},
      {"utf8mb4", "utf8mb4_hungarian_ci"}, {"utf8mb4", "utf8mb4_unicode_520_nopad_ci"},
      {"utf8mb4", "uca1400_ai_ci"},        {"utf8mb3", "utf8mb3_spanish2_ci"},
      {"latin1", "latin1_swedish_ci"},     {"latin1", "latin1_german2_ci"},
      {"latin2", "latin2_czech_cs"},       {"cp1250", "cp1250_czech_cs"},
      {"ucs2", "ucs2_unicode_ci"},         {"utf16", "utf16_general_ci"},
      {"utf32", "utf32_czech_ci"},         {"gbk", "gbk_chinese_ci"},
      {"tis620", "tis620_thai_ci"},        {"binary", "binary"}};
  for (const auto &[charset, collation] : collations) {
    compare_prefixes(charset, collation, "");
    compare_prefixes(charset, collation, "PARTITION BY HASH (id) PARTITIONS 3");
  }
}

void ServerRanges::compare_ranges(const std::string &type, const Texts &values, const std::string &options) {
  SCOPED_TRACE(type + " " + options);
  executor_->idle();
  sql("CREATE OR REPLACE TABLE contract.ranges (id INT AUTO_INCREMENT PRIMARY KEY, k " + type +
      ", g INT, KEY k (k), KEY gk (g, k)) " + options);
  std::string rows = "(NULL)";
  for (int i = 0; i < 120; ++i) rows += i % 9 == 0 ? ", (NULL)" : ", ('" + any_of(values) + "')";
  sql("INSERT INTO contract.ranges (k) VALUES " + rows + "; UPDATE contract.ranges SET g = id % 2");
  TableSlot &by_k = opened({"contract", "ranges", "k", {"id"}});
  TableSlot &by_gk = opened({"contract", "ranges", "gk", {"id"}});
  const bool whole = options.empty();
  for (int i = 0; i < 60; ++i) {
    const std::string low = any_of(values), high = any_of(values);
    const bool down = random_() % 2 == 0, from_included = random_() % 2 == 0, until_included = random_() % 2 == 0;
    const bool grouped = random_() % 2 == 0, bounded = random_() % 4 != 0;
    const std::string from =
        down ? (from_included ? "k <= '" : "k < '") + high : (from_included ? "k >= '" : "k > '") + low;
    const std::string until =
        down ? (until_included ? "k >= '" : "k > '") + low : (until_included ? "k <= '" : "k < '") + high;
    std::string where = from + "'";
    if (bounded) where += " AND " + until + "'";
    if (grouped) where += " AND g = 1";
    std::string order = down ? " ORDER BY k DESC, id DESC" : " ORDER BY k, id";
    const Value given[] = {Value::of("1"), Value::of(down ? high : low)};
    const Value ends[] = {Value::of("1"), Value::of(down ? low : high)};
    Find find{.comparison = down ? (from_included ? Comparison::at_most : Comparison::less)
                                 : (from_included ? Comparison::at_least : Comparison::greater),
              .key = grouped ? std::span<const Value>(given) : std::span<const Value>(given).last(1),
              .limit = 1'000,
              .until_included = until_included || !bounded};
    if (bounded) find.until = grouped ? std::span<const Value>(ends) : std::span<const Value>(ends).last(1);
    else if (grouped) find.until = std::span<const Value>(ends).first(1);
    // NULL is below every bound for the door, and outside every range in SQL.
    if (grouped && down && !bounded) where = "(" + where + " OR (g = 1 AND k IS NULL))";
    else if (down && !bounded) where = "(" + where + " OR k IS NULL)";
    if (whole && random_() % 2 == 0) {
      find.limit = 1 + random_() % 10;
      find.offset = random_() % 5;
      order += " LIMIT " + std::to_string(find.limit) + " OFFSET " + std::to_string(find.offset);
    }
    const std::string statement = "SELECT id FROM contract.ranges WHERE " + where + order;
    const Texts expected = ask(statement), ids = found(grouped ? by_gk : by_k, find);
    EXPECT_EQ(whole || !down ? ids : sorted(ids), whole || !down ? expected : sorted(expected)) << statement;
  }
}

TEST_F(ServerRanges, TwoEndsAreThoseOfBetween) {
  Texts numbers, fractions, dates, times, texts;
  for (int i = 0; i < 40; ++i) {
    const int number = static_cast<int>(random_() % 60) - 20;
    numbers.push_back(std::to_string(number));
    fractions.push_back(std::to_string(number) + "." + std::to_string(random_() % 90 + 10));
    dates.push_back("2020-0" + std::to_string(random_() % 3 + 1) + "-1" + std::to_string(random_() % 9));
    times.push_back("1" + std::to_string(random_() % 9) + ":0" + std::to_string(random_() % 3) + ":00");
    texts.push_back(joined({"a", "A", "b", "c", "d", " "}, 4));
  }
  for (const char *const options : {"", "PARTITION BY HASH (id) PARTITIONS 3"}) {
    compare_ranges("INT", numbers, options);
    compare_ranges("BIGINT", numbers, options);
    compare_ranges("DECIMAL(6,2)", fractions, options);
    compare_ranges("DOUBLE", fractions, options);
    compare_ranges("DATE", dates, options);
    compare_ranges("TIME", times, options);
    compare_ranges("VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", texts, options);
    compare_ranges("VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin", texts, options);
    compare_ranges("CHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", texts, options);
  }
}

}  // namespace
}  // namespace postern::contract_test
