#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "histogram.h"
#include "keys.h"
#include "protocol.h"

namespace postern::bench {
namespace {

TEST(Histogram, QuantilesAreNeverTooLowAndAtMostATwentiethTooHigh) {
  Histogram histogram;
  for (int64_t value = 1; value <= 100'000; ++value) histogram.add(value);
  EXPECT_EQ(histogram.count(), 100'000U);
  EXPECT_EQ(histogram.max_ns(), 100'000U);
  for (const double part : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = part * 100'000;
    const auto told = static_cast<double>(histogram.quantile_ns(part));
    EXPECT_GE(told, exact) << part;
    EXPECT_LE(told, exact * 1.05) << part;
  }
}

TEST(Histogram, TakesEveryLatency) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.5), 0U);
  for (const int64_t value : {int64_t{-5}, int64_t{0}, int64_t{31}, int64_t{32}, INT64_MAX}) histogram.add(value);
  EXPECT_EQ(histogram.quantile_ns(0.2), 0U);
  EXPECT_EQ(histogram.quantile_ns(0.6), 31U);
  EXPECT_EQ(histogram.quantile_ns(0.8), 32U);
  EXPECT_EQ(histogram.quantile_ns(1.0), static_cast<uint64_t>(INT64_MAX));
}

TEST(Keys, UniformOnesAreInBoundsAndEven) {
  Random random(7);
  std::vector<int> seen(11);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t key = random.up_to(10);
    ASSERT_GE(key, 1U);
    ASSERT_LE(key, 10U);
    ++seen[key];
  }
  EXPECT_GT(*std::min_element(seen.begin() + 1, seen.end()), 9'500);
  EXPECT_LT(*std::max_element(seen.begin() + 1, seen.end()), 10'500);
}

TEST(Keys, ZipfianOnesFollowTheLaw) {
  constexpr uint64_t most = 1'000;
  const Zipfian zipfian(most);
  Random random(7);
  std::vector<int> seen(most);
  constexpr int draws = 1'000'000;
  for (int i = 0; i < draws; ++i) ++seen[zipfian.rank(random)];
  double sum = 0;
  for (uint64_t i = 1; i <= most; ++i) sum += std::pow(static_cast<double>(i), -0.99);
  EXPECT_NEAR(seen[0], draws / sum, 0.02 * draws / sum);
  EXPECT_NEAR(seen[1], draws / sum / std::pow(2, 0.99), 0.02 * draws / sum);
  const auto upper_half = std::accumulate(seen.begin() + most / 2, seen.end(), 0);
  double expected = 0;
  for (uint64_t i = most / 2 + 1; i <= most; ++i) expected += std::pow(static_cast<double>(i), -0.99) / sum * draws;
  EXPECT_NEAR(upper_half, expected, 0.1 * expected);
}

TEST(Keys, ScatteredRanksMeetEveryKeyOnce) {
  for (const uint64_t most : {1U, 2U, 10U, 1'000U, 1U << 16}) {
    const Zipfian zipfian(most);
    std::set<uint64_t> keys;
    for (uint64_t rank = 0; rank < most; ++rank) keys.insert(zipfian.key_of(rank));
    EXPECT_EQ(keys.size(), most);
    EXPECT_EQ(*keys.begin(), 1U);
    EXPECT_EQ(*keys.rbegin(), most);
  }
}

TEST(Workload, ColumnsBelongToTheirKey) {
  EXPECT_TRUE(is_name("name12", 12));
  EXPECT_TRUE(is_name("name12.7", 12));
  EXPECT_FALSE(is_name("name123", 12));
  EXPECT_FALSE(is_name("name1", 12));
  EXPECT_FALSE(is_name("name12.", 12));
  EXPECT_FALSE(is_name("name12.x", 12));
  EXPECT_TRUE(is_email("user12@example.org", 12));
  EXPECT_FALSE(is_email("user12@example.org ", 12));
  EXPECT_TRUE(is_row("name12.3 user12@example.org 2010-02-03 11:22:33", {}, 12, ' '));
  EXPECT_FALSE(is_row("name12 user12@example.org 2010-02-03 11:22:34", {}, 12, ' '));
  EXPECT_FALSE(is_row("name12 user13@example.org 2010-02-03 11:22:33", {}, 12, ' '));
  EXPECT_EQ(key_of_name("name12.3"), 12U);
  EXPECT_EQ(key_of_name("name"), 0U);
  EXPECT_EQ(key_of_name("nam12"), 0U);
  EXPECT_EQ(key_of_name("name12x"), 0U);
}

Table table(Bytes name) {
  Table made;
  EXPECT_TRUE(table_of(name, made)) << name;
  return made;
}

TEST(Workload, TablesDifferByTheirNames) {
  EXPECT_EQ(table("user_10000").name, "user_10000");
  EXPECT_EQ(columns_of(table("user_10000")), columns_of(table("user")));
  EXPECT_EQ(columns_of(table("value_80")), std::vector<std::string>{"value"});
  EXPECT_EQ(table("wide_2").name, "wide");
  EXPECT_EQ(columns_of(table("wide_2")), (std::vector<std::string>{"c1", "c2"}));
  EXPECT_EQ(key_prefix(table("user")), "user:");
  EXPECT_EQ(key_prefix(table("value_80")), "value_80:");
  for (const char *none : {"", "users", "user_", "user_0", "value_x", "value_99999999", "wide_0", "wide", "people_1"}) {
    Table made;
    EXPECT_FALSE(table_of(none, made)) << none;
  }
}

TEST(Workload, CellsBelongToTheirKey) {
  const auto row = [](Bytes name, uint64_t key) {
    std::string made;
    put_row(made, table(name), key, 0, '|');
    return made;
  };
  EXPECT_EQ(row("value_5", 123456), "00001");
  EXPECT_EQ(row("value_24", 123456), "000012345600001234560000");
  EXPECT_EQ(row("wide_3", 12), "1.12|2.12|3.12");
  EXPECT_EQ(row("people", 12), "user12@example.org");
  for (const char *name : {"user", "people", "value_10", "value_24", "value_100000", "wide_1", "wide_32"}) {
    const std::string text = row(name, 4'000'000'012);
    EXPECT_TRUE(is_row(text, table(name), 4'000'000'012, '|')) << name;
    EXPECT_FALSE(is_row(text, table(name), 4'000'000'013, '|')) << name;
    EXPECT_FALSE(is_row(text + "0", table(name), 4'000'000'012, '|')) << name;
    EXPECT_FALSE(is_row(text.substr(0, text.size() - 1), table(name), 4'000'000'012, '|')) << name;
  }
  std::string spoiled = row("value_100000", 12);
  spoiled[99'990] = 'x';
  EXPECT_FALSE(is_row(spoiled, table("value_100000"), 12, '|'));
  EXPECT_FALSE(is_row("1.12|2.13", table("wide_2"), 12, '|'));
  EXPECT_FALSE(is_row("1.12", table("wide_2"), 12, '|'));
  EXPECT_FALSE(is_row("1.12|2.12|3.12", table("wide_2"), 12, '|'));
}

/// Returns the verdict of `protocol` on `answer`, and checks that every proper prefix of it is incomplete.
Verdict hear(Protocol &protocol, Bytes answer, const Request &request) {
  for (size_t cut = 0; cut < answer.size(); ++cut)
    EXPECT_EQ(protocol.hear(answer.substr(0, cut), request).verdict, Verdict::more) << cut << " of " << answer;
  const std::string and_more = std::string(answer) + "next";
  const Heard heard = protocol.hear(and_more, request);
  EXPECT_EQ(heard.bytes, answer.size()) << answer;
  return heard.verdict;
}

std::string asked(Protocol &protocol, const Request &request) {
  std::string out;
  protocol.ask(request, {}, out);
  return out;
}

Request request(Kind kind, uint64_t key, std::vector<uint64_t> keys = {}) {
  Request made;
  made.kind = kind;
  made.key = key;
  made.keys = std::move(keys);
  return made;
}

Plan plan(uint32_t scan_rows = 2) {
  Plan made;
  made.shape.scan_rows = scan_rows;
  return made;
}

Plan plan_of(Bytes name) {
  Plan made;
  made.shape.table = table(name);
  made.shape.scan_rows = 2;
  return made;
}

#define ROW(k) "name" k "\tuser" k "@example.org\t2010-02-03 11:22:33"

TEST(HandlerSocketLoad, AsksAndChecks) {
  const auto protocol = make_handlersocket(plan());
  EXPECT_EQ(asked(*protocol, request(Kind::find, 7)), "1\t=\t1\t7\n");
  EXPECT_EQ(asked(*protocol, request(Kind::multi, 0, {7, 3})), "1\t=\t1\t\t2\t0\t@\t0\t2\t7\t3\n");
  EXPECT_EQ(asked(*protocol, request(Kind::scan, 7)), "1\t>=\t1\t7\t2\t0\n");
  EXPECT_EQ(asked(*protocol, request(Kind::increment, 7)), "4\t=\t1\t7\t1\t0\t+\t1\n");
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("7") "\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("8") "\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "0\t3\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "2\t1\tnotimpl\n", request(Kind::find, 7)), Verdict::refused);
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("7") "\t" ROW("3") "\n", request(Kind::multi, 0, {7, 3})), Verdict::right);
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("7") "\n", request(Kind::multi, 0, {7, 3})), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("7") "\t" ROW("8") "\t" ROW("9") "\n", request(Kind::scan, 7)),
            Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "0\t3\t" ROW("7") "\t" ROW("8") "\n", request(Kind::scan, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "0\t1\t1\n", request(Kind::update, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "0\t1\t0\n", request(Kind::update, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "1\t1\t121\n", request(Kind::insert, 7)), Verdict::refused);
}

TEST(HandlerSocketLoad, ReadsOtherTables) {
  const auto value = make_handlersocket(plan_of("value_12"));
  EXPECT_EQ(hear(*value, "0\t1\t000000000700\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*value, "0\t1\t000000000800\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_FALSE(value->may_end("00070"));
  EXPECT_TRUE(value->may_end("00070\n"));
  const auto wide = make_handlersocket(plan_of("wide_2"));
  EXPECT_EQ(hear(*wide, "0\t2\t1.7\t2.7\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*wide, "0\t2\t1.7\t2.8\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*wide, "0\t2\t1.7\t2.7\t1.8\t2.8\n", request(Kind::scan, 7)), Verdict::right);
}

TEST(StoreLoad, KeepsOtherTablesApart) {
  const auto memcached = make_memcached(plan_of("value_4"));
  EXPECT_EQ(asked(*memcached, request(Kind::insert, 7)), "set value_4:7 0 0 4\r\n0000\r\n");
  EXPECT_EQ(hear(*memcached, "VALUE value_4:7 0 4\r\n0000\r\nEND\r\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*memcached, "VALUE value_4:7 0 4\r\n0001\r\nEND\r\n", request(Kind::find, 7)), Verdict::wrong);
  const auto redis = make_redis(plan_of("value_4"));
  EXPECT_EQ(asked(*redis, request(Kind::find, 7)), "*2\r\n$3\r\nGET\r\n$9\r\nvalue_4:7\r\n");
  EXPECT_EQ(hear(*redis, "$4\r\n0000\r\n", request(Kind::find, 7)), Verdict::right);
}

#define VALUE(k, size) "VALUE user:" k " 0 " size "\r\n" ROW(k) "\r\n"

TEST(MemcachedLoad, AsksAndChecks) {
  const auto protocol = make_memcached(plan());
  EXPECT_EQ(asked(*protocol, request(Kind::find, 7)), "get user:7\r\n");
  EXPECT_EQ(asked(*protocol, request(Kind::insert, 7)), "set user:7 0 0 43\r\n" ROW("7") "\r\n");
  EXPECT_EQ(hear(*protocol, VALUE("7", "43") "END\r\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, VALUE("8", "43") "END\r\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "END\r\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, VALUE("7", "43") VALUE("3", "43") "END\r\n", request(Kind::multi, 0, {7, 3})),
            Verdict::right);
  EXPECT_EQ(hear(*protocol, "STORED\r\n", request(Kind::update, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "12\r\n", request(Kind::increment, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "NOT_FOUND\r\n", request(Kind::increment, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "SERVER_ERROR out of memory\r\n", request(Kind::update, 7)), Verdict::refused);
}

#define CELLS(k) "name" k "|user" k "@example.org|2010-02-03 11:22:33"

TEST(MemcachedContainerLoad, AsksForRowsByTheirOwnKeys) {
  const auto protocol = make_memcached_container(plan());
  EXPECT_EQ(asked(*protocol, request(Kind::find, 7)), "get 7\r\n");
  EXPECT_EQ(asked(*protocol, request(Kind::increment, 7)), "incr 7 1\r\n");
  EXPECT_EQ(asked(*protocol, request(Kind::insert, 7)), "set 7 0 0 43\r\n" CELLS("7") "\r\n");
  EXPECT_EQ(hear(*protocol, "VALUE 7 0 43\r\n" CELLS("7") "\r\nEND\r\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "VALUE 7 0 43\r\n" ROW("7") "\r\nEND\r\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "VALUE 8 0 43\r\n" CELLS("8") "\r\nEND\r\n", request(Kind::find, 7)), Verdict::wrong);
}

TEST(MemcachedMetaLoad, AsksAndChecks) {
  const auto protocol = make_memcached_meta(plan());
  EXPECT_EQ(asked(*protocol, request(Kind::multi, 0, {7, 3})), "mg user:7 v q\r\nmg user:3 v q\r\nmn\r\n");
  EXPECT_EQ(hear(*protocol, "VA 43\r\n" ROW("7") "\r\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "EN\r\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(
      hear(*protocol, "VA 43\r\n" ROW("7") "\r\nVA 43\r\n" ROW("3") "\r\nMN\r\n", request(Kind::multi, 0, {7, 3})),
      Verdict::right);
  EXPECT_EQ(hear(*protocol, "VA 43\r\n" ROW("7") "\r\nMN\r\n", request(Kind::multi, 0, {7, 3})), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "HD\r\n", request(Kind::insert, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "NS\r\n", request(Kind::insert, 7)), Verdict::wrong);
}

TEST(RedisLoad, AsksAndChecks) {
  const auto protocol = make_redis(plan());
  EXPECT_EQ(asked(*protocol, request(Kind::find, 7)), "*2\r\n$3\r\nGET\r\n$6\r\nuser:7\r\n");
  EXPECT_EQ(hear(*protocol, "$43\r\n" ROW("7") "\r\n", request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "$-1\r\n", request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, "*2\r\n$43\r\n" ROW("7") "\r\n$43\r\n" ROW("3") "\r\n", request(Kind::multi, 0, {7, 3})),
            Verdict::right);
  EXPECT_EQ(hear(*protocol, "+OK\r\n", request(Kind::update, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, ":12\r\n", request(Kind::increment, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, "-OOM no memory\r\n", request(Kind::update, 7)), Verdict::refused);
}

TEST(RedisLoad, AsksForHashes) {
  const auto whole = make_redis(plan(), RedisRows::whole_hashes);
  EXPECT_EQ(asked(*whole, request(Kind::find, 7)), "*2\r\n$7\r\nHGETALL\r\n$5\r\nrow:7\r\n");
  EXPECT_TRUE(
      asked(*whole, request(Kind::insert, 7)).starts_with("*8\r\n$4\r\nHSET\r\n$5\r\nrow:7\r\n$9\r\nuser_name\r\n"));
  EXPECT_EQ(hear(*whole, ":3\r\n", request(Kind::insert, 7)), Verdict::right);
  const std::string name = "$5\r\nname7\r\n", mail = "$17\r\nuser7@example.org\r\n",
                    made = "$19\r\n2010-02-03 11:22:33\r\n";
  const std::string fields =
      "*6\r\n$9\r\nuser_name\r\n" + name + "$10\r\nuser_email\r\n" + mail + "$7\r\ncreated\r\n" + made;
  EXPECT_EQ(hear(*whole, fields, request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*whole, fields, request(Kind::find, 8)), Verdict::wrong);
  EXPECT_EQ(hear(*whole, "*0\r\n", request(Kind::find, 7)), Verdict::wrong);
  const auto some = make_redis(plan(), RedisRows::fields);
  EXPECT_TRUE(
      asked(*some, request(Kind::find, 7)).starts_with("*5\r\n$5\r\nHMGET\r\n$5\r\nrow:7\r\n$9\r\nuser_name\r\n"));
  EXPECT_EQ(hear(*some, "*3\r\n" + name + mail + made, request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*some, "*3\r\n" + name + mail + "$-1\r\n", request(Kind::find, 7)), Verdict::wrong);
}

std::string packet(Bytes payload) {
  std::string framed;
  framed += static_cast<char>(payload.size());
  framed += std::string("\0\0\1", 3);
  framed += payload;
  return framed;
}
std::string counted(Bytes text) {
  return static_cast<char>(text.size()) + std::string(text);
}
const std::string end_packet = packet(Bytes("\xfe\0\0\2\0", 5));
const std::string three_columns = packet("\3") + packet("def1") + packet("def2") + packet("def3") + end_packet;

std::string text_row(const std::string &key) {
  return packet(counted("name" + key) + counted("user" + key + "@example.org") + counted("2010-02-03 11:22:33"));
}
std::string binary_row(const std::string &key) {
  return packet(std::string(2, '\0') + counted("name" + key) + counted("user" + key + "@example.org") +
                counted(Bytes("\xda\x07\x02\x03\x0b\x16\x21", 7)));
}
const std::string ok_packet = packet(Bytes("\0\1\0\2\0\0\0", 7));

TEST(SqlLoad, ChecksTextRows) {
  const auto protocol = make_sql_text(plan());
  const auto found = [](const std::string &rows) { return three_columns + rows + end_packet; };
  EXPECT_EQ(asked(*protocol, request(Kind::multi, 0, {7, 3})).substr(5),
            "SELECT user_name,user_email,created FROM user WHERE user_id IN (7,3)");
  EXPECT_EQ(hear(*protocol, found(text_row("7")), request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, found(text_row("8")), request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, found(""), request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, found(text_row("3") + text_row("7")), request(Kind::multi, 0, {7, 3})), Verdict::right);
  EXPECT_EQ(hear(*protocol, found(text_row("3") + text_row("3")), request(Kind::multi, 0, {7, 3})), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, found(text_row("7") + text_row("8")), request(Kind::scan, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, found(text_row("7") + text_row("9")), request(Kind::scan, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, ok_packet, request(Kind::update, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, packet(Bytes("\0\0\0\2\0\0\0", 7)), request(Kind::update, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, packet("\xff\x15\x04#28000no"), request(Kind::find, 7)), Verdict::refused);
}

TEST(SqlLoad, ReadsOtherTables) {
  const auto text = make_sql_text(plan_of("wide_2"));
  EXPECT_EQ(asked(*text, request(Kind::find, 7)).substr(5), "SELECT c1,c2 FROM wide WHERE user_id = 7");
  const std::string head = packet("\2") + packet("def1") + packet("def2") + end_packet;
  EXPECT_EQ(hear(*text, head + packet(counted("1.7") + counted("2.7")) + end_packet, request(Kind::find, 7)),
            Verdict::right);
  EXPECT_EQ(hear(*text, head + packet(counted("1.7") + counted("2.8")) + end_packet, request(Kind::find, 7)),
            Verdict::wrong);
  const auto prepared = make_sql_prepared(plan_of("value_4"));
  const std::string row = packet(std::string(2, '\0') + counted("0000"));
  EXPECT_EQ(hear(*prepared, packet("\1") + packet("def1") + end_packet + row + end_packet, request(Kind::find, 7)),
            Verdict::right);
}

TEST(SqlLoad, ChecksBinaryRows) {
  const auto protocol = make_sql_prepared(plan());
  const auto found = [](const std::string &rows) { return three_columns + rows + end_packet; };
  EXPECT_EQ(hear(*protocol, found(binary_row("7")), request(Kind::find, 7)), Verdict::right);
  EXPECT_EQ(hear(*protocol, found(binary_row("8")), request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, found(text_row("7")), request(Kind::find, 7)), Verdict::wrong);
  EXPECT_EQ(hear(*protocol, ok_packet, request(Kind::increment, 7)), Verdict::right);
}

}  // namespace
}  // namespace postern::bench
