// Blocking commands, over the engine in memory: which client is served, in which order, and how waits end.
#include "redis/collections/blocking.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "redis/held_reply.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

class RedisBlocking : public RedisTest {
 protected:
  RedisBlocking() { create_keyspace(engine_); }

  /// Sends a command that has to wait.
  void block(int number, const std::string &line) {
    EXPECT_EQ(connection(number).send(line + "\r\n"), "");
    EXPECT_TRUE(connection(number).asleep()) << line;
  }
  /// Pushes elements for which others wait: the answer waits, too.
  void push(const std::string &line) {
    EXPECT_EQ(send(line + "\r\n"), "");
    EXPECT_TRUE(connection().asleep()) << line;
  }
  std::string hear(int number) { return connection(number).look_again(); }
  /// The answer to the last push().
  std::string hear_pushed() { return hear(0); }
};

TEST_F(RedisBlocking, ExistingElementsAreTakenAtOnce) {
  send("RPUSH l a b\r\nZADD z 1 one 2 two\r\n");
  EXPECT_EQ(send("BLPOP nosuch l 0\r\nBRPOP l 0\r\n"), "*2\r\n$1\r\nl\r\n$1\r\na\r\n*2\r\n$1\r\nl\r\n$1\r\nb\r\n");
  EXPECT_EQ(send("BZPOPMAX z 0\r\nBZPOPMIN z 0\r\nEXISTS z l\r\n"),
            "*3\r\n$1\r\nz\r\n$3\r\ntwo\r\n$1\r\n2\r\n*3\r\n$1\r\nz\r\n$3\r\none\r\n$1\r\n1\r\n:0\r\n");
  EXPECT_EQ(protocol_->waiters().count(), 0u);
}

TEST_F(RedisBlocking, APushServesAWaiter) {
  block(1, "BLPOP a b 0");
  EXPECT_EQ(protocol_->waiters().count(), 1u);
  EXPECT_EQ(hear(1), "") << "nobody has woken it";
  push("RPUSH b x y");
  EXPECT_EQ(hear_pushed(), "") << "who waits was not served";
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nb\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":2\r\n");
  EXPECT_EQ(protocol_->waiters().count(), 0u);
  EXPECT_EQ(send("LRANGE b 0 -1\r\n"), "*1\r\n$1\r\ny\r\n");
  block(1, "BZPOPMIN z 0");
  push("ZADD z 2 two 1 one");
  EXPECT_EQ(hear(1), "*3\r\n$1\r\nz\r\n$3\r\none\r\n$1\r\n1\r\n");
  EXPECT_EQ(hear_pushed(), ":2\r\n");
}

TEST_F(RedisBlocking, NobodyStandsInTheWayOfAnotherType) {
  block(1, "BZPOPMIN k 0");
  block(2, "BLPOP k 0");
  block(3, "BZPOPMAX k 0");
  push("RPUSH k x");
  EXPECT_EQ(hear(1), "");
  EXPECT_EQ(hear(2), "*2\r\n$1\r\nk\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  push("ZADD k 1 one 2 two");
  EXPECT_EQ(hear(1), "*3\r\n$1\r\nk\r\n$3\r\none\r\n$1\r\n1\r\n");
  EXPECT_EQ(hear_pushed(), "") << "there is more, and somebody else";
  EXPECT_EQ(hear(3), "*3\r\n$1\r\nk\r\n$3\r\ntwo\r\n$1\r\n2\r\n");
  EXPECT_EQ(hear_pushed(), ":2\r\n");
}

TEST_F(RedisBlocking, AWaiterWokenForOneKeyTakesFromNoOther) {
  block(1, "BLPOP a 0");
  block(2, "BLPOP a b 0");
  block(3, "BZPOPMIN y 0");
  block(4, "BZPOPMIN y z 0");
  send("MULTI\r\nRPUSH a x\r\nRPUSH b y\r\nZADD y 1 one\r\nZADD z 2 two\r\nEXEC\r\n");
  EXPECT_EQ(hear(2), "*2\r\n$1\r\nb\r\n$1\r\ny\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\na\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear(4), "*3\r\n$1\r\nz\r\n$3\r\ntwo\r\n$1\r\n2\r\n");
  EXPECT_EQ(hear(3), "*3\r\n$1\r\ny\r\n$3\r\none\r\n$1\r\n1\r\n");
}

TEST_F(RedisBlocking, TheFirstWaiterIsServedFirst) {
  block(1, "BLPOP l 0");
  block(2, "BLPOP l 0");
  block(3, "BLPOP l 0");
  push("RPUSH l a");
  EXPECT_EQ(hear(3) + hear(2), "");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(hear(2), "") << "it is the first now, has looked, and sleeps on";
  EXPECT_TRUE(connection(2).asleep());
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  push("RPUSH l b c d");
  EXPECT_EQ(hear(3), "");
  EXPECT_EQ(hear(2), "*2\r\n$1\r\nl\r\n$1\r\nb\r\n");
  EXPECT_EQ(hear(3), "*2\r\n$1\r\nl\r\n$1\r\nc\r\n") << "told as it became the first";
  EXPECT_EQ(hear_pushed(), ":3\r\n");
}

TEST_F(RedisBlocking, SomebodyElseMayBeQuicker) {
  block(1, "BLPOP l 0");
  push("RPUSH l a");
  EXPECT_EQ(connection(2).send("LPOP l\r\n"), "$1\r\na\r\n");
  EXPECT_EQ(hear(1), "");
  EXPECT_TRUE(connection(1).asleep());
  EXPECT_EQ(hear_pushed(), ":1\r\n") << "nobody can take it any more";
  EXPECT_EQ(send("MULTI\r\nRPUSH l a\r\nDEL l\r\nEXEC\r\n"), "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(hear(1), "");
  EXPECT_EQ(hear_pushed(), "*2\r\n:1\r\n:1\r\n");
  EXPECT_EQ(send("MULTI\r\nRPUSH l a\r\nRPUSH l b\r\nEXEC\r\nLLEN l\r\n"), "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(hear_pushed(), "*2\r\n:1\r\n:2\r\n:1\r\n");
}

TEST_F(RedisBlocking, AWaiterThatLeavesWasNeverThere) {
  block(1, "BLPOP l 0");
  block(2, "BLPOP l 0");
  push("RPUSH l a");
  connections_.erase(1);
  EXPECT_EQ(hear_pushed(), "") << "the next one may take it";
  EXPECT_EQ(hear(2), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  block(2, "BLPOP l m 0");
  connections_.erase(2);
  EXPECT_EQ(protocol_->waiters().count(), 0u);
  EXPECT_EQ(send("RPUSH l a\r\nLLEN l\r\n"), ":1\r\n:1\r\n");
}

TEST_F(RedisBlocking, ItEndsInTime) {
  const int64_t begin = clock_ms();
  block(1, "BLPOP l 0.05");
  while (clock_ms() - begin <= 51) EXPECT_LE(connection(1).session().wake_ms(), begin + 1'000);
  EXPECT_EQ(connection(1).sleep_on(), "*-1\r\n");
  connection(1).send("HELLO 3\r\n");
  block(1, "BLMOVE l m LEFT RIGHT 0.05");
  while (connection(1).session().wake_ms() > clock_ms()) {
  }
  EXPECT_EQ(connection(1).sleep_on(), "_\r\n");
  EXPECT_EQ(protocol_->waiters().count(), 0u);
}

TEST_F(RedisBlocking, TheFirstLooksForElementsWithoutAWake) {
  block(1, "BLPOP l 0");
  block(2, "BLPOP l 0");
  EXPECT_EQ(connection(2).session().wake_ms(), INT64_MAX) << "the first looks for it";
  engine_.insert("postern_redis", "entries", {"l", "2", std::nullopt, "0", "1", "1", "0"});
  engine_.insert("postern_redis", "lists", {"l", "0", "sql"});
  EXPECT_LE(connection(1).session().wake_ms(), clock_ms() + 1'000);
  while (connection(1).session().wake_ms() > clock_ms()) {
  }
  EXPECT_EQ(connection(1).sleep_on(), "*2\r\n$1\r\nl\r\n$3\r\nsql\r\n");
}

TEST_F(RedisBlocking, PipelinedCommandsWait) {
  EXPECT_EQ(connection(1).send("PING\r\nBLPOP l 0\r\nECHO a\r\n"), "+PONG\r\n");
  EXPECT_EQ(connection(1).send("ECHO b\r\n"), "");
  send("LPUSH l x\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\nx\r\n$1\r\na\r\n$1\r\nb\r\n");
}

TEST_F(RedisBlocking, ElementsMoveOn) {
  block(1, "BLMOVE a b LEFT RIGHT 0");
  block(2, "BRPOPLPUSH b c 0");
  block(3, "BLPOP c 0");
  push("RPUSH a x");
  EXPECT_EQ(hear(3) + hear(2), "");
  EXPECT_EQ(hear(1), "$1\r\nx\r\n");
  EXPECT_EQ(hear(2), "$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), "") << "it has moved where somebody waits";
  EXPECT_EQ(hear(3), "*2\r\n$1\r\nc\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  EXPECT_EQ(send("EXISTS a b c\r\n"), ":0\r\n");
}

TEST_F(RedisBlocking, ElementsMoveInACircle) {
  block(1, "BRPOPLPUSH a b 0");
  block(2, "BRPOPLPUSH b a 0");
  push("RPUSH a x");
  EXPECT_EQ(hear(1), "$1\r\nx\r\n");
  EXPECT_EQ(hear(2), "$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  block(1, "BLMOVE l l LEFT RIGHT 0");
  push("RPUSH l x");
  EXPECT_EQ(hear(1), "$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n") << "it was told of what it had put there itself";
}

TEST_F(RedisBlocking, APushDoesNotWaitForEver) {
  block(1, "BLPOP l 0");
  push("RPUSH l a\r\nLLEN l");
  const int64_t until_ms = connection().session().wake_ms();
  EXPECT_LE(until_ms, clock_ms() + serving_wait_ms);
  while (clock_ms() < until_ms) {
  }
  EXPECT_EQ(connection().sleep_on(), ":1\r\n:1\r\n");
  EXPECT_EQ(send("RPUSH l b\r\n"), ":2\r\n") << "nobody else waits for one that is late";
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  block(1, "BLPOP m 0");
  push("RPUSH m a");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nm\r\n$1\r\na\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
}

TEST_F(RedisBlocking, AClientThatPushesMayLeaveOrEndItsSending) {
  block(1, "BLPOP l 0");
  push("RPUSH l a");
  connections_.erase(0);
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  block(1, "BLPOP l 0");
  push("RPUSH l a");
  connection().end_sending();
  EXPECT_EQ(connection().sleep_on(), ":1\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
}

TEST_F(RedisBlocking, APushWithoutWaitersIsNotHeld) {
  block(1, "BLPOP l 0");
  EXPECT_EQ(send("RPUSH other l\r\nLMOVE other third LEFT LEFT\r\nZADD z 1 l\r\nSORT third ALPHA STORE fourth\r\n"),
            ":1\r\n$1\r\nl\r\n:1\r\n:1\r\n");
  EXPECT_EQ(send("MULTI\r\nRPUSH other l\r\nGET l\r\nEXEC\r\n"), "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n$-1\r\n");
  EXPECT_EQ(send("LPUSHX l a\r\n"), "");
  EXPECT_EQ(hear(1), "") << "there is nothing";
  EXPECT_EQ(hear_pushed(), ":0\r\n");
}

TEST_F(RedisBlocking, WhatFeedsIsAnsweredWhenItHasServed) {
  const std::pair<const char *, const char *> cases[] = {
      {"LPUSH l x", ":1\r\n"},
      {"LMOVE from l LEFT LEFT", "$1\r\nx\r\n"},
      {"RPOPLPUSH from l", "$1\r\nx\r\n"},
      {"RENAME from l", "+OK\r\n"},
      {"COPY from l", ":1\r\n"},
      {"SORT from ALPHA STORE l", ":1\r\n"},
  };
  for (const auto &[line, reply] : cases) {
    send("DEL from\r\nRPUSH from x\r\n");
    block(1, "BLPOP l 0");
    push(line);
    EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\nx\r\n") << line;
    EXPECT_EQ(hear_pushed(), reply) << line;
  }
  for (const char *const line : {"ZADD z 1 m", "ZINCRBY z 1 m", "ZUNIONSTORE z 1 from", "ZRANGESTORE z from 0 -1"}) {
    send("DEL from\r\nZADD from 1 m\r\n");
    block(1, "BZPOPMIN z 0");
    push(line);
    EXPECT_EQ(hear(1), "*3\r\n$1\r\nz\r\n$1\r\nm\r\n$1\r\n1\r\n") << line;
    EXPECT_NE(hear_pushed(), "") << line;
  }
}

TEST_F(RedisBlocking, TwoThatWaitForEachOtherSleep) {
  block(1, "BLMOVE a b LEFT RIGHT 0");
  block(2, "BLMOVE b a LEFT RIGHT 0");
  EXPECT_EQ(hear(1) + hear(2) + hear(1), "");
  EXPECT_TRUE(connection(1).asleep() && connection(2).asleep());
}

TEST_F(RedisBlocking, KeysOfOtherTypes) {
  send("SET text x\r\nRPUSH l a\r\n");
  EXPECT_EQ(send("BLPOP nosuch text l 0\r\n"),
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(send("BLMOVE l text LEFT LEFT 0\r\nLLEN l\r\n"),
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n:1\r\n");
  block(1, "BLPOP later 0");
  EXPECT_EQ(send("SET later x\r\nDEL later\r\nZADD later 1 m\r\n"), "+OK\r\n:1\r\n");
  EXPECT_EQ(hear(1), "") << "it waits for a list";
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  EXPECT_EQ(send("DEL later\r\nRPUSH later x\r\n"), ":1\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$5\r\nlater\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  block(1, "BLMOVE from text LEFT LEFT 0");
  push("RPUSH from x");
  EXPECT_EQ(hear(1), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  EXPECT_EQ(send("LLEN from\r\n"), ":1\r\n");
}

TEST_F(RedisBlocking, NobodyWaitsInATransaction) {
  EXPECT_EQ(send("MULTI\r\nBLPOP l 0\r\nBLMOVE l m LEFT LEFT 0\r\nBZMPOP 0 1 z MIN\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n*-1\r\n$-1\r\n*-1\r\n");
  send("RPUSH l a b\r\n");
  EXPECT_EQ(send("MULTI\r\nBLPOP l 0\r\nEXEC\r\n"), "+OK\r\n+QUEUED\r\n*1\r\n*2\r\n$1\r\nl\r\n$1\r\na\r\n");
}

TEST_F(RedisBlocking, TimeoutsAreNumbers) {
  EXPECT_EQ(send("BLPOP l x\r\nBLPOP l -1\r\nBLPOP l nan\r\nBLMPOP -0.1 1 l LEFT\r\n"),
            "-ERR timeout is not a float or out of range\r\n-ERR timeout is negative\r\n"
            "-ERR timeout is not a float or out of range\r\n-ERR timeout is negative\r\n");
  EXPECT_EQ(send("BLPOP l 1e400\r\nBLPOP l inf\r\nBLPOP l 9223372036854776\r\n"),
            "-ERR timeout is negative\r\n-ERR timeout is negative\r\n-ERR timeout is negative\r\n");
  block(1, "BLPOP l 9223372036854775");
  EXPECT_EQ(connection(1).sleep_on(), "") << "for ever";
  block(2, "BLPOP l -0.0001");
  EXPECT_EQ(send("BLMPOP 0 0 l LEFT\r\nBLMPOP 0 1 l UP\r\nBLMOVE a b LEFT UP 0\r\n"),
            "-ERR numkeys should be greater than 0\r\n-ERR syntax error\r\n-ERR syntax error\r\n");
}

TEST_F(RedisBlocking, ClientsMayBeUnblocked) {
  const std::string id = connection(1).send("CLIENT ID\r\n");
  const std::string number = id.substr(1, id.size() - 3);
  EXPECT_EQ(send("CLIENT UNBLOCK " + number + "\r\n"), ":0\r\n");
  block(1, "BLPOP l 0");
  EXPECT_NE(send("CLIENT LIST ID " + number + "\r\n").find(" flags=b "), std::string::npos);
  EXPECT_EQ(send("CLIENT UNBLOCK " + number + "\r\n"), ":1\r\n");
  EXPECT_EQ(hear(1), "*-1\r\n");
  EXPECT_NE(send("CLIENT LIST ID " + number + "\r\n").find(" flags=N "), std::string::npos);
  block(1, "BZPOPMIN z 0");
  EXPECT_EQ(send("CLIENT UNBLOCK " + number + " ERROR\r\nCLIENT UNBLOCK " + number + " nonsense\r\n"),
            ":1\r\n-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n");
  EXPECT_EQ(hear(1), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
  EXPECT_EQ(send("CLIENT UNBLOCK x\r\nCLIENT UNBLOCK 999\r\n"),
            "-ERR value is not an integer or out of range\r\n:0\r\n");
}

TEST_F(RedisBlocking, AKeyMayStandTwice) {
  block(1, "BLPOP l l 0");
  block(2, "BLPOP l 0");
  send("RPUSH l a b\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(hear(2), "*2\r\n$1\r\nl\r\n$1\r\nb\r\n");
}

TEST_F(RedisBlocking, RepliesMayBeUnwanted) {
  EXPECT_EQ(connection(1).send("CLIENT REPLY OFF\r\nBLPOP l 0\r\nCLIENT REPLY ON\r\n"), "");
  push("RPUSH l a");
  EXPECT_EQ(hear(1), "+OK\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  block(1, "BLPOP l 0");
  EXPECT_EQ(send("CLIENT REPLY OFF\r\nRPUSH l a\r\nCLIENT REPLY ON\r\n"), "");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(hear_pushed(), "+OK\r\n");
  EXPECT_EQ(send("LLEN l\r\n"), ":0\r\n");
}

TEST_F(RedisBlocking, RenamedAndCopiedKeysServe) {
  send("RPUSH l a b\r\nZADD z 1 m\r\n");
  block(1, "BLPOP new 0");
  push("RENAME l new");
  EXPECT_EQ(hear(1), "*2\r\n$3\r\nnew\r\n$1\r\na\r\n");
  EXPECT_EQ(hear_pushed(), "+OK\r\n");
  block(1, "BLPOP copy 0");
  push("COPY new copy");
  EXPECT_EQ(hear(1), "*2\r\n$4\r\ncopy\r\n$1\r\nb\r\n");
  EXPECT_EQ(hear_pushed(), ":1\r\n");
  block(1, "BZMPOP 0 2 a b MAX COUNT 5");
  send("ZUNIONSTORE b 1 z\r\n");
  EXPECT_EQ(hear(1), "*2\r\n$1\r\nb\r\n*1\r\n*2\r\n$1\r\nm\r\n$1\r\n1\r\n");
}

}  // namespace
}  // namespace postern::redis
