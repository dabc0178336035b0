// Streams, over the fake engine. Its integers have 63 bits, so ids are small here.
#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "base/pool.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/streams/stream_work.h"
#include "redis/testing/redis_test_fixture.h"
#include "redis/wire/stream_id.h"

namespace postern::redis {
namespace {

class RedisStreams : public RedisTest {
 protected:
  RedisStreams() { create_keyspace(engine_); }

  std::string ask(const std::string &lines, int number = 0) { return connection(number).send(lines + "\r\n"); }
  std::string hear(int number) { return connection(number).look_again(); }
};

std::string bulk(const std::string &text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string entry(const std::string &id, const std::string &field, const std::string &value) {
  return "*2\r\n" + bulk(id) + "*2\r\n" + bulk(field) + bulk(value);
}

std::string of_stream(const std::string &key, const std::string &entries) {
  return "*1\r\n*2\r\n" + bulk(key) + entries;
}

// The answer was left out, and the next one was taken for it.
TEST_F(RedisStreams, AnAnswerWithoutMemoryEndsTheConnection) {
  ask("xadd s 1-1 a " + std::string(50'000, 'x'));
  ask("xadd s 1-2 a " + std::string(50'000, 'x'));
  pool::set_large_bytes_max(pool::large_bytes());
  EXPECT_EQ(ask("xrange s - +\r\nping", 1), "");
  pool::set_large_bytes_max(limits::buffer_bytes_max);
  EXPECT_TRUE(connection(1).closed());
}

TEST_F(RedisStreams, EntriesStandInOrder) {
  EXPECT_EQ(ask("xadd s 1-1 a b\r\nxadd s 1-* c d\r\nxadd s 2 e f\r\nxlen s\r\ntype s"),
            bulk("1-1") + bulk("1-2") + bulk("2-0") + ":3\r\n+stream\r\n");
  EXPECT_EQ(ask("xrange s - +"), "*3\r\n" + entry("1-1", "a", "b") + entry("1-2", "c", "d") + entry("2-0", "e", "f"));
  EXPECT_EQ(ask("xrevrange s + - count 1"), "*1\r\n" + entry("2-0", "e", "f"));
  EXPECT_EQ(ask("xrange s (1-1 1"), "*1\r\n" + entry("1-2", "c", "d"));
  EXPECT_EQ(ask("xrange s - + count 0\r\nxrange nothing - +"), "*-1\r\n*0\r\n");
  EXPECT_EQ(ask("xadd s 2-0 a b"),
            "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n");
  EXPECT_EQ(ask("xadd s 0-0 a b"), "-ERR The ID specified in XADD must be greater than 0-0\r\n");
  EXPECT_EQ(ask("xadd nothing nomkstream * a b\r\nexists nothing"), "$-1\r\n:0\r\n");
  EXPECT_EQ(ask("xadd s 3 a"), "-ERR wrong number of arguments for 'xadd' command\r\n");
}

TEST_F(RedisStreams, EntriesAreDeletedAndTheStreamStays) {
  ask("xadd s 1-1 a b\r\nxadd s 2-1 c d\r\nxadd s 3-1 e f");
  EXPECT_EQ(ask("xdel s 2-1 9-9\r\nxtrim s maxlen 1\r\nxlen s\r\nxdel s 3-1\r\nexists s\r\nxlen s"),
            ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(ask("xadd s 3-1 a b"),
            "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n");
  EXPECT_EQ(ask("xsetid s 1-1\r\nxadd s 1-2 a b"), "+OK\r\n" + bulk("1-2"));  // although 3-1 was deleted
  EXPECT_EQ(ask("xadd t maxlen 2 1-1 a b\r\nxadd t maxlen 2 1-2 a b\r\nxadd t maxlen 2 1-3 a b\r\nxlen t"),
            bulk("1-1") + bulk("1-2") + bulk("1-3") + ":2\r\n");
  EXPECT_EQ(ask("xtrim t minid 1-3\r\nxlen t"), ":1\r\n:1\r\n");
}

TEST_F(RedisStreams, GroupsDeliverEachEntryOnce) {
  ask("xgroup create s g $ mkstream\r\nxadd s 1-1 a b\r\nxadd s 1-2 c d");
  EXPECT_EQ(ask("xgroup create s g $"), "-BUSYGROUP Consumer Group name already exists\r\n");
  EXPECT_EQ(ask("xreadgroup group g one count 1 streams s >"), of_stream("s", "*1\r\n" + entry("1-1", "a", "b")));
  EXPECT_EQ(ask("xreadgroup group g two streams s >"), of_stream("s", "*1\r\n" + entry("1-2", "c", "d")));
  EXPECT_EQ(ask("xreadgroup group g two streams s >"), "*-1\r\n");
  EXPECT_EQ(ask("xreadgroup group g one streams s 0"), of_stream("s", "*1\r\n" + entry("1-1", "a", "b")));
  EXPECT_EQ(ask("xpending s g"), "*4\r\n:2\r\n" + bulk("1-1") + bulk("1-2") + "*2\r\n*2\r\n" + bulk("one") + bulk("1") +
                                     "*2\r\n" + bulk("two") + bulk("1"));
  EXPECT_EQ(ask("xack s g 1-1 7-7\r\nxack s none 1-1"), ":1\r\n:0\r\n");
  EXPECT_EQ(ask("xclaim s g one 0 1-2 justid\r\nxautoclaim s g three 0 0 count 1 justid"),
            "*1\r\n" + bulk("1-2") + "*3\r\n" + bulk("0-0") + "*1\r\n" + bulk("1-2") + "*0\r\n");
  EXPECT_EQ(ask("xdel s 1-2\r\nxreadgroup group g three streams s 0"),
            ":1\r\n" + of_stream("s", "*1\r\n*2\r\n" + bulk("1-2") + "*-1\r\n"));
  EXPECT_EQ(ask("xautoclaim s g one 0 0"), "*3\r\n" + bulk("0-0") + "*0\r\n*1\r\n" + bulk("1-2"));
  EXPECT_EQ(ask("xgroup destroy s g\r\nxgroup destroy s g"), ":1\r\n:0\r\n");
  EXPECT_EQ(ask("xreadgroup group g one streams s >"),
            "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option\r\n");
}

TEST_F(RedisStreams, ReadersWait) {
  EXPECT_EQ(ask("xread block 0 streams s $", 1), "");
  ask("xgroup create s g $ mkstream");
  EXPECT_EQ(ask("xreadgroup group g one block 0 streams s >", 2), "");
  EXPECT_EQ(ask("xadd s 1-1 a b"), bulk("1-1"));
  EXPECT_EQ(hear(1), of_stream("s", "*1\r\n" + entry("1-1", "a", "b")));
  EXPECT_EQ(hear(2), of_stream("s", "*1\r\n" + entry("1-1", "a", "b")));
  EXPECT_EQ(ask("xreadgroup group g one block 0 streams s >", 2), "");
  EXPECT_EQ(ask("xgroup destroy s g"), ":1\r\n");
  EXPECT_EQ(hear(2), "-NOGROUP the consumer group this client was blocked on no longer exists\r\n");
  ask("xgroup create s g $");
  EXPECT_EQ(ask("xreadgroup group g one block 0 streams s >", 2), "");
  EXPECT_EQ(ask("copy s t\r\ndel s"), ":1\r\n:1\r\n");
  EXPECT_EQ(hear(2), "-UNBLOCKED the stream key no longer exists\r\n");
  ask("rename t s");
  EXPECT_EQ(ask("xread streams s 0\r\nxread streams s $\r\nxread count 1 streams s 1-1"),
            of_stream("s", "*1\r\n" + entry("1-1", "a", "b")) + "*-1\r\n*-1\r\n");
}

TEST_F(RedisStreams, KeysOfStreamsAreKeys) {
  ask("xadd s 1-1 a b\r\nxgroup create s g 0\r\nxreadgroup group g c streams s >");
  const std::string copied = ask("copy s t\r\nrename s u\r\nxrange t - +\r\nxpending u g - + 10");
  // Between the two parts: the milliseconds for which it has been pending.
  EXPECT_TRUE(copied.starts_with(":1\r\n+OK\r\n*1\r\n" + entry("1-1", "a", "b") + "*1\r\n*4\r\n" + bulk("1-1") +
                                 bulk("c") + ":"))
      << copied;
  EXPECT_TRUE(copied.ends_with("\r\n:1\r\n")) << copied;
  EXPECT_EQ(ask("object encoding t\r\nget t\r\nlpush t a\r\nxadd t 1-1 a b"),
            bulk("stream") +
                "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
                "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
                "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n");
  EXPECT_EQ(ask("del t u\r\nexists t u\r\nset u text\r\nxlen u"),
            ":2\r\n:0\r\n+OK\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_TRUE(engine_.rows("postern_redis", "streams").empty());
  EXPECT_TRUE(engine_.rows("postern_redis", "stream_pending").empty());
  EXPECT_TRUE(engine_.rows("postern_redis", "stream_consumers").empty());
}

TEST_F(RedisStreams, AKeyspaceWithoutTheirTablesGoesOn) {
  for (const char *const table : {"streams", "stream_groups", "stream_consumers", "stream_pending"})
    engine_.drop("postern_redis", table);
  const std::string why =
      "-ERR the keyspace has no tables for streams: an administrator has to run redis.sql again\r\n";
  EXPECT_EQ(ask("xadd s 1-1 a b"), why);
  EXPECT_EQ(ask("exists s\r\nlpush l a\r\ndel l\r\nlpush l a\r\nflushdb\r\nexists l"),
            ":0\r\n:1\r\n:1\r\n:1\r\n+OK\r\n:0\r\n");
}

TEST_F(RedisStreams, TheyKnowThemselves) {
  ask("xgroup create s g 0 mkstream\r\nxadd s 1-1 a b\r\nxadd s 1-2 c d\r\nxreadgroup group g one count 1 streams s >");
  const std::string groups = ask("xinfo groups s");
  EXPECT_EQ(groups, "*1\r\n*12\r\n" + bulk("name") + bulk("g") + bulk("consumers") + ":1\r\n" + bulk("pending") +
                        ":1\r\n" + bulk("last-delivered-id") + bulk("1-1") + bulk("entries-read") + ":1\r\n" +
                        bulk("lag") + ":1\r\n");
  EXPECT_TRUE(ask("xinfo stream s").starts_with("*20\r\n" + bulk("length") + ":2\r\n"));
  EXPECT_TRUE(ask("xinfo stream s full").starts_with("*18\r\n" + bulk("length") + ":2\r\n"));
  EXPECT_EQ(ask("xinfo stream nothing"), "-ERR no such key\r\n");
  EXPECT_EQ(ask("command getkeys xread count 1 streams a b 0 0"), "*2\r\n" + bulk("a") + bulk("b"));
}

TEST(StreamIds, StepBothWays) {
  StreamId id{1, UINT64_MAX};
  EXPECT_TRUE(step_forward(id));
  EXPECT_EQ(id, (StreamId{2, 0}));
  EXPECT_TRUE(step_back(id));
  EXPECT_EQ(id, (StreamId{1, UINT64_MAX}));
  id = last_stream_id;
  EXPECT_FALSE(step_forward(id));
  id = {};
  EXPECT_FALSE(step_back(id));
  EXPECT_FALSE(parse_stream_id("1-", 0, id));
  EXPECT_FALSE(parse_stream_id("-1", 0, id));
  EXPECT_FALSE(parse_stream_id("18446744073709551616", 0, id));
  EXPECT_TRUE(parse_stream_end("+", 0, id));
}

TEST(StreamIds, AreWrittenWhole) {
  EXPECT_EQ(StreamId{}.text(), "0-0");
  EXPECT_EQ((StreamId{1526919030474, 55}.text()), "1526919030474-55");
  EXPECT_EQ(last_stream_id.text(), "18446744073709551615-18446744073709551615");
  const StreamHead head{.last = last_stream_id, .deleted = last_stream_id, .added = UINT64_MAX};
  EXPECT_EQ(head.text(),
            "18446744073709551615-18446744073709551615 18446744073709551615-18446744073709551615 18446744073709551615");
  const StreamHead read = StreamHead::of(head.text());
  EXPECT_EQ(read.last, head.last);
  EXPECT_EQ(read.deleted, head.deleted);
  EXPECT_EQ(read.added, head.added);
}

}  // namespace
}  // namespace postern::redis
