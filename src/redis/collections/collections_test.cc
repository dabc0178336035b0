// Lists, sets and sorted sets over the engine in memory: the replies, and the rows in the tables afterwards.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "redis/collections/random_elements.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

class RedisCollections : public RedisTest {
 protected:
  RedisCollections() { create_keyspace(engine_); }

  /// Positions and values of a list, as in the table.
  std::string list() {
    std::string all;
    for (const auto &row : engine_.rows("postern_redis", "lists")) all += *row[1] + *row[2] + " ";
    return all;
  }
  size_t rows(Bytes table) { return engine_.rows("postern_redis", table).size(); }
  /// A value of so many bytes, which does not fit an inline command.
  void set_large(const std::string &key, const std::string &field, size_t bytes) {
    const auto bulk = [](const std::string &text) {
      return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    };
    send("*4\r\n" + bulk("HSET") + bulk(key) + bulk(field) + bulk(std::string(bytes, 'x')));
  }
};

TEST(TextBetween, IsAfterTheFirstAndNotAfterTheLast) {
  const std::string zeros(3, '\0');
  const std::vector<std::string> texts = {"",
                                          zeros,
                                          "a",
                                          "a" + zeros,
                                          "aa",
                                          "ab",
                                          "b",
                                          "user:1",
                                          "user:10",
                                          "user:9",
                                          "user:900000",
                                          std::string(20, 'x'),
                                          std::string(30, 'x'),
                                          "\xff",
                                          "\xff\xff"};
  for (const std::string &first : texts) {
    for (const std::string &last : texts) {
      if (first >= last) continue;
      const std::string between = text_between(first, last);
      EXPECT_GT(between, first) << last;
      EXPECT_LE(between, last) << first;
    }
  }
  EXPECT_EQ(text_between("user:1000", "user:9000"), "user:5");
}

TEST_F(RedisCollections, FewOfManyAreDrawn) {
  std::string members;
  for (int i = 0; i < 2'000; ++i) members += " m" + std::to_string(i);
  EXPECT_EQ(send("SADD s" + members + "\r\n"), ":2000\r\n");
  std::set<std::string> popped;
  for (int i = 0; i < 200; ++i) popped.insert(send("SPOP s\r\n"));
  EXPECT_EQ(popped.size(), 200u);
  EXPECT_EQ(send("SCARD s\r\n"), ":1800\r\n");
  EXPECT_EQ(rows("sets"), 1'800u);
  EXPECT_EQ(send("SPOP s 3\r\n").substr(0, 4), "*3\r\n");
  EXPECT_EQ(send("SRANDMEMBER s -3\r\n").substr(0, 4), "*3\r\n");
  EXPECT_EQ(send("SRANDMEMBER s 3\r\n").substr(0, 4), "*3\r\n");
  EXPECT_EQ(rows("sets"), 1'797u);
}

TEST_F(RedisCollections, SetsAreRows) {
  EXPECT_EQ(send("SADD s b a b\r\nSADD s a\r\nSCARD s\r\nSMEMBERS s\r\n"),
            ":2\r\n:0\r\n:2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  EXPECT_EQ(send("SISMEMBER s a\r\nSMISMEMBER s x b\r\nSREM s a x\r\n"), ":1\r\n*2\r\n:0\r\n:1\r\n:1\r\n");
  EXPECT_EQ(rows("sets"), 1u);
  EXPECT_EQ(send("SMOVE s t b\r\nEXISTS s\r\nTYPE t\r\nSPOP t\r\nEXISTS t\r\n"),
            ":1\r\n:0\r\n+set\r\n$1\r\nb\r\n:0\r\n");
  EXPECT_EQ(rows("entries"), 0u);
}

TEST_F(RedisCollections, SetsArePutTogether) {
  send("SADD one a b c\r\nSADD two b c d\r\nSET text x\r\n");
  EXPECT_EQ(send("SINTER one two\r\n"), "*2\r\n$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(send("SDIFF one two nosuch\r\n"), "*1\r\n$1\r\na\r\n");
  EXPECT_EQ(send("SUNIONSTORE text one two\r\nSCARD text\r\nSINTERCARD 2 one two LIMIT 1\r\n"), ":4\r\n:4\r\n:1\r\n");
  EXPECT_EQ(send("SINTERSTORE one one nosuch\r\nEXISTS one\r\nSINTER nosuch two\r\n"), ":0\r\n:0\r\n*0\r\n");
}

TEST_F(RedisCollections, ListsStayDense) {
  EXPECT_EQ(send("RPUSH l a b c d e\r\nLPUSH l x\r\n"), ":5\r\n:6\r\n");
  EXPECT_EQ(list(), "-1x 0a 1b 2c 3d 4e ");
  EXPECT_EQ(send("LINSERT l BEFORE a y\r\nLINSERT l AFTER e z\r\nLINSERT l AFTER nosuch z\r\n"), ":7\r\n:8\r\n:-1\r\n");
  EXPECT_EQ(list(), "-2x -1y 0a 1b 2c 3d 4e 5z ");
  EXPECT_EQ(send("LREM l 0 y\r\nLREM l -1 d\r\nLSET l -1 last\r\n"), ":1\r\n:1\r\n+OK\r\n");
  EXPECT_EQ(list(), "-1x 0a 1b 2c 3e 4last ");
  EXPECT_EQ(send("LTRIM l 1 -2\r\nLRANGE l -2 -1\r\nLPOS l b\r\nLINDEX l 0\r\n"),
            "+OK\r\n*2\r\n$1\r\nc\r\n$1\r\ne\r\n:1\r\n$1\r\na\r\n");
  EXPECT_EQ(send("RPOPLPUSH l l\r\nLPOP l 9\r\n"), "$1\r\ne\r\n*4\r\n$1\r\ne\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(rows("entries"), 0u);
}

TEST_F(RedisCollections, SortedSetsAreInOrderOfScores) {
  EXPECT_EQ(send("ZADD z 2 b 1 a 3 c\r\nZADD z NX 9 a\r\nZADD z XX CH 4 a 5 nosuch\r\nZINCRBY z 2 b\r\n"),
            ":3\r\n:0\r\n:1\r\n$1\r\n4\r\n");
  EXPECT_EQ(send("ZRANGE z 0 -1 WITHSCORES\r\n"),
            "*6\r\n$1\r\nc\r\n$1\r\n3\r\n$1\r\na\r\n$1\r\n4\r\n$1\r\nb\r\n$1\r\n4\r\n");
  EXPECT_EQ(send("ZRANK z b\r\nZREVRANK z b\r\nZSCORE z c\r\nZCOUNT z (3 4\r\n"), ":2\r\n:0\r\n$1\r\n3\r\n:2\r\n");
  EXPECT_EQ(send("ZPOPMIN z\r\nZREMRANGEBYSCORE z 4 4\r\nEXISTS z\r\n"), "*2\r\n$1\r\nc\r\n$1\r\n3\r\n:2\r\n:0\r\n");
  EXPECT_EQ(rows("zsets"), 0u);
}

TEST_F(RedisCollections, OtherTypesAreRefused) {
  send("SET text x\r\nSADD s a\r\n");
  for (const char *const command :
       {"SADD text a", "LPUSH s a", "ZADD s 1 a", "SMEMBERS text", "LRANGE s 0 -1", "ZRANGE s 0 -1", "ZRANGE s -1 -1",
        "SPOP text", "LPOP s", "ZPOPMIN s", "SUNION s text", "LINDEX s 0", "ZSCORE s a", "LLEN s", "ZRANK s a"})
    EXPECT_TRUE(send(std::string(command) + "\r\n").starts_with("-WRONGTYPE")) << command;
  EXPECT_EQ(rows("entries"), 2u);
}

TEST_F(RedisCollections, ALostRunIsDoneAgainFromItsBeginning) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    create_keyspace(engine_);
    engine_.set_faults({.seed = seed, .lost = 300});
    executor_ = engine_.attach({.counters = &counters_}, stop_);
    connections_.clear();
    EXPECT_EQ(send("RPUSH l a b c d\r\nLINSERT l BEFORE b x\r\nLREM l 1 c\r\nLPOP l\r\nLRANGE l 0 -1\r\n"),
              ":4\r\n:5\r\n:1\r\n$1\r\na\r\n*3\r\n$1\r\nx\r\n$1\r\nb\r\n$1\r\nd\r\n")
        << seed;
    EXPECT_EQ(send("ZADD z 1 a 2 b\r\nZINCRBY z 1 a\r\nSADD s a\r\nZUNIONSTORE u 2 z s\r\nZSCORE u a\r\n"),
              ":2\r\n$1\r\n2\r\n:1\r\n:2\r\n$1\r\n3\r\n")
        << seed;
  }
  engine_.set_faults({});
}

TEST_F(RedisCollections, HashesAreScanned) {
  send("HSET h a 1 b 2 ab 3\r\n");
  EXPECT_EQ(send("HSCAN h 0 MATCH a* COUNT 1\r\n"),
            "*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nab\r\n$1\r\n3\r\n");
  EXPECT_EQ(send("HSCAN h 0 NOVALUES COUNT 9\r\n"), "*2\r\n$1\r\n0\r\n*3\r\n$1\r\na\r\n$2\r\nab\r\n$1\r\nb\r\n");
  EXPECT_EQ(send("HSCAN nosuch 0\r\nHSCAN nosuch 77\r\n"), "*2\r\n$1\r\n0\r\n*0\r\n*2\r\n$1\r\n0\r\n*0\r\n");
  EXPECT_EQ(send("SADD s a\r\nHSCAN s 0\r\nSSCAN s 0 NOVALUES\r\n"),
            ":1\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n-ERR syntax error\r\n");
}

TEST_F(RedisCollections, AnUnknownCursorReadsASmallKeyWholeAndIsInvalidForALargeOne) {
  std::string set = "HSET h";
  for (int i = 0; i < 128; ++i) set += " f" + std::to_string(i) + " 1";
  EXPECT_EQ(send(set + "\r\n"), ":128\r\n");
  const std::string whole = send("HSCAN h 0\r\n");
  EXPECT_TRUE(whole.starts_with("*2\r\n$1\r\n0\r\n*256\r\n")) << whole;
  EXPECT_EQ(send("HSCAN h 77\r\n"), whole);
  EXPECT_EQ(send("HSET h more 1\r\nHSCAN h 77\r\n"), ":1\r\n-ERR invalid cursor\r\n");
}

TEST_F(RedisCollections, AScanOfLargeValuesIsAnsweredInPieces) {
  constexpr size_t large = 600'000;
  for (const char *const field : {"a", "b", "c"}) set_large("h", field, large);
  const std::string first = send("HSCAN h 0\r\n");
  EXPECT_GT(first.size(), 2 * large);
  EXPECT_LT(first.size(), 2 * large + 100);
  const std::string cursor = first.substr(8, first.find('\r', 8) - 8);
  EXPECT_NE(cursor, "0");
  EXPECT_EQ(send("HSCAN h " + cursor + " NOVALUES\r\n"), "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nc\r\n");
}

TEST_F(RedisCollections, FieldsAreChosenByChance) {
  EXPECT_EQ(send("HRANDFIELD h\r\nHRANDFIELD h 3\r\n"), "$-1\r\n*0\r\n");
  send("HSET h a 1\r\n");
  EXPECT_EQ(send("HRANDFIELD h\r\nHRANDFIELD h 5 WITHVALUES\r\n"), "$1\r\na\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n");
  EXPECT_EQ(send("HRANDFIELD h -2\r\n"), "*2\r\n$1\r\na\r\n$1\r\na\r\n");
  EXPECT_EQ(send("HSET h b 2\r\nHRANDFIELD h 2\r\n"), ":1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  set_large("long", "f", 1'000'000);
  EXPECT_EQ(send("HRANDFIELD long -1000000 WITHVALUES\r\n"), "-ERR The reply is larger than the limit\r\n");
}

}  // namespace
}  // namespace postern::redis
