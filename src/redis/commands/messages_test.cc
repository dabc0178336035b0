// Publishing and subscribing, over the engine in memory: receivers, order, and format of messages.
#include <gtest/gtest.h>

#include <string>

#include "redis/messages/subscriptions.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

class RedisMessages : public RedisTest {
 protected:
  RedisMessages() { create_keyspace(engine_); }

  std::string ask(int number, const std::string &lines) { return connection(number).send(lines + "\r\n"); }
  std::string hear(int number) { return connection(number).look_again(); }
};

const std::string message_a_x = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n";

TEST_F(RedisMessages, SubscribersHear) {
  EXPECT_EQ(ask(0, "publish a x"), ":0\r\n");
  EXPECT_EQ(ask(1, "subscribe a a b"),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n");
  EXPECT_EQ(ask(2, "psubscribe [a-c] *"),
            "*3\r\n$10\r\npsubscribe\r\n$5\r\n[a-c]\r\n:1\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:2\r\n");
  EXPECT_EQ(ask(0, "publish a x"), ":3\r\n");
  EXPECT_EQ(hear(1), message_a_x);
  const std::string heard = hear(2);
  EXPECT_NE(heard.find("*4\r\n$8\r\npmessage\r\n$5\r\n[a-c]\r\n$1\r\na\r\n$1\r\nx\r\n"), std::string::npos) << heard;
  EXPECT_NE(heard.find("*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nx\r\n"), std::string::npos) << heard;
  EXPECT_EQ(ask(1, "unsubscribe a"), "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
  EXPECT_EQ(ask(0, "publish a y"), ":2\r\n");
  EXPECT_EQ(hear(1), "");
  connections_.erase(2);
  EXPECT_EQ(ask(0, "publish a y"), ":0\r\n");
}

TEST_F(RedisMessages, WhatComesNextInAPipelineDoesNotCount) {
  EXPECT_EQ(ask(1, "unsubscribe\r\npunsubscribe\r\nsubscribe a\r\npsubscribe b"),
            "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n"
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\nb\r\n:2\r\n");
}

TEST_F(RedisMessages, ASubscriptionBeginsAndEndsAfterTheCommandsBeforeIt) {
  EXPECT_EQ(ask(1, "subscribe a"), "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
  EXPECT_EQ(ask(2, "publish a x\r\nsubscribe a\r\nping"),
            ":1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  EXPECT_EQ(hear(2), "");
  ask(3, "hello 3\r\nsubscribe a");
  EXPECT_EQ(ask(3, "publish a x\r\nunsubscribe a\r\npublish a y"),
            ":3\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
            ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n:2\r\n");
}

TEST_F(RedisMessages, ResetEndsSubscriptionsAfterTheCommandsBeforeIt) {
  ask(1, "hello 3\r\nsubscribe a");
  EXPECT_EQ(ask(1, "publish a x\r\nreset\r\npublish a y"),
            ":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n+RESET\r\n:0\r\n");
}

TEST_F(RedisMessages, ClientsAreKilledAfterTheCommandsBefore) {
  ask(1, "subscribe a");
  EXPECT_EQ(ask(2, "publish a x\r\nclient kill type pubsub\r\nping"), ":1\r\n:1\r\n+PONG\r\n");
  EXPECT_EQ(hear(1), message_a_x);
}

TEST_F(RedisMessages, ASubscriberThatExecutesHasNoTransaction) {
  EXPECT_TRUE(ask(1, "subscribe a\r\nexec")
                  .ends_with("-EXECABORT Transaction discarded because of: Can't execute 'exec': only (P|S)SUBSCRIBE / "
                             "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n"));
}

TEST_F(RedisMessages, ShardChannelsAreNamesOfTheirOwn) {
  EXPECT_EQ(ask(1, "ssubscribe a"), "*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n");
  EXPECT_EQ(ask(2, "psubscribe *\r\nsubscribe a"),
            "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n");
  EXPECT_EQ(
      ask(0, "spublish a x\r\npubsub shardchannels\r\npubsub shardnumsub a b\r\npubsub numsub a\r\npubsub numpat"),
      ":1\r\n*1\r\n$1\r\na\r\n*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:0\r\n*2\r\n$1\r\na\r\n:1\r\n:1\r\n");
  EXPECT_EQ(hear(1), "*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
  EXPECT_EQ(hear(2), "");
  EXPECT_EQ(ask(1, "sunsubscribe"), "*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n");
  EXPECT_EQ(ask(1, "get k"), "$-1\r\n");
}

TEST_F(RedisMessages, InResp2ASubscriberAsksNothingElse) {
  EXPECT_EQ(ask(1, "subscribe a\r\nget k\r\nclient id\r\nping\r\nping x\r\nnosuch\r\nget\r\nmulti"),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
            "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
            "this context\r\n"
            "-ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
            "in this context\r\n"
            "*2\r\n$4\r\npong\r\n$0\r\n\r\n*2\r\n$4\r\npong\r\n$1\r\nx\r\n"
            "-ERR unknown command 'nosuch', with args beginning with: \r\n"
            "-ERR wrong number of arguments for 'get' command\r\n"
            "-ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
            "this context\r\n");
  EXPECT_EQ(ask(1, "reset\r\nping\r\npubsub channels"), "+RESET\r\n+PONG\r\n*0\r\n");
}

TEST_F(RedisMessages, InResp3AnythingMayBeAsked) {
  ask(1, "hello 3");
  EXPECT_EQ(
      ask(1, "subscribe a\r\nget k\r\npublish a x\r\nping"),
      ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n_\r\n:1\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
  EXPECT_NE(ask(1, "client info").find(" flags=P db=0 sub=1 psub=0 ssub=0 "), std::string::npos);
  EXPECT_EQ(ask(1, "client reply off\r\nget k\r\npublish a x"), ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
}

TEST_F(RedisMessages, UnsubscribingFromNothingHasOneReply) {
  EXPECT_EQ(ask(0, "unsubscribe\r\npunsubscribe\r\nsunsubscribe\r\nunsubscribe a b"),
            "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n"
            "*3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
            "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n");
  ask(0, "subscribe a b\r\npsubscribe c");
  EXPECT_EQ(ask(0, "unsubscribe\r\npunsubscribe"),
            "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n"
            "*3\r\n$12\r\npunsubscribe\r\n$1\r\nc\r\n:0\r\n");
}

TEST_F(RedisMessages, LettersAreSentBeforeTheSubscriptionEnds) {
  ask(1, "subscribe a");
  ask(0, "publish a x");
  EXPECT_EQ(ask(1, "unsubscribe a"), message_a_x + "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
  ask(1, "subscribe a");
  ask(0, "publish a x");
  EXPECT_EQ(ask(1, "reset"), message_a_x + "+RESET\r\n");
}

TEST_F(RedisMessages, WhatATransactionPublishesLeavesWithIt) {
  ask(1, "subscribe a");
  EXPECT_EQ(ask(0, "multi\r\nset k v\r\npublish a x\r\nget k"), "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(hear(1), "");
  EXPECT_EQ(ask(0, "exec"), "*3\r\n+OK\r\n:1\r\n$1\r\nv\r\n");
  EXPECT_EQ(hear(1), message_a_x);
  ask(0, "watch k\r\nmulti\r\npublish a x\r\nset k w");
  ask(2, "set k other");
  EXPECT_EQ(ask(0, "exec"), "*-1\r\n");
  EXPECT_EQ(hear(1), "");
  ask(0, "multi\r\npublish a x\r\ndiscard");
  EXPECT_EQ(hear(1), "");
}

TEST_F(RedisMessages, AnUndoneMessageIsNotHeard) {
  make({.exec_rolls_back = true});
  ask(1, "subscribe a");
  ask(0, "set k text");
  EXPECT_TRUE(
      ask(0, "multi\r\npublish a x\r\nset l v\r\nincr k\r\nexec")
          .ends_with("-EXECABORT Transaction discarded because of: ERR value is not an integer or out of range\r\n"));
  EXPECT_EQ(hear(1), "");
}

TEST_F(RedisMessages, ATransactionMaySubscribe) {
  EXPECT_EQ(ask(1, "multi\r\nsubscribe a\r\nget k\r\nsubscribe b\r\nunsubscribe a\r\nexec"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n$-1\r\n"
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
  EXPECT_EQ(ask(0, "publish a x\r\npublish b x"), ":0\r\n:1\r\n");
  ask(2, "multi\r\nsubscribe a\r\ndiscard");
  EXPECT_EQ(ask(0, "publish a x"), ":0\r\n");
}

TEST_F(RedisMessages, ClientsAreListedAndKilledByType) {
  ask(1, "client setname hears\r\nsubscribe a");
  ask(2, "client setname asks");
  EXPECT_NE(ask(0, "client list type pubsub").find("name=hears"), std::string::npos);
  EXPECT_EQ(ask(0, "client list type pubsub").find("name=asks"), std::string::npos);
  EXPECT_EQ(ask(0, "client list type normal").find("name=hears"), std::string::npos);
  EXPECT_EQ(ask(0, "client kill type pubsub"), ":1\r\n");
  EXPECT_NE(ask(0, "info stats").find("pubsub_channels:1\r\npubsub_patterns:0\r\n"), std::string::npos);
}

TEST_F(RedisMessages, ASubscriberThatDoesNotReadIsCutOff) {
  Settings settings;
  settings.boxes.bytes_max = 100'000;
  make(settings);
  ask(1, "subscribe a");
  ask(2, "subscribe a");
  const std::string much(30'000, 'x');
  EXPECT_EQ(ask(0, "publish a " + much), ":2\r\n");
  EXPECT_EQ(hear(2).size(), much.size() + 34);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(0, "publish a " + much), ":2\r\n");
  EXPECT_EQ(hear(1), "");
  EXPECT_TRUE(connection(1).closed());
  EXPECT_EQ(hear(2).size(), 3 * (much.size() + 34));
  EXPECT_FALSE(connection(2).closed());
}

TEST_F(RedisMessages, NamesAreBounded) {
  const std::string why = "-ERR the name of a channel, or the pattern, is too long\r\n";
  EXPECT_EQ(ask(0, "psubscribe " + std::string(1'025, '*')), why);
  EXPECT_EQ(ask(0, "*2\r\n$9\r\nsubscribe\r\n$65537\r\n" + std::string(65'537, 'c')), why);
  EXPECT_EQ(ask(0, "pubsub channels a b"),
            "-ERR unknown subcommand or wrong number of arguments for 'channels'. Try PUBSUB HELP.\r\n");
}

}  // namespace
}  // namespace postern::redis
