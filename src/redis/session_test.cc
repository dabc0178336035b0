// Whole sessions: their answers and the order of these, and the rights of clients.
#include "redis/session.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

using RedisSessions = RedisTest;
using RedisAccounts = RedisTest;

TEST_F(RedisSessions, AnswersInOrder) {
  EXPECT_EQ(send("ping\r\n*2\r\n$4\r\nECHO\r\n$2\r\na\r\r\nnosuch\r\nPING x\r\n"),
            "+PONG\r\n$2\r\na\r\r\n-ERR unknown command 'nosuch', with args beginning with: \r\n$1\r\nx\r\n");
  std::string many;
  std::string answers;
  for (int i = 0; i < 1'000; ++i) {
    many += "ECHO " + std::to_string(i) + "\r\n";
    const std::string number = std::to_string(i);
    answers += "$" + std::to_string(number.size()) + "\r\n" + number + "\r\n";
  }
  EXPECT_EQ(send(many), answers);
  EXPECT_EQ(connection(1).send_byte_by_byte("ECHO ab\r\n*2\r\n$4\r\necho\r\n$1\r\nc\r\n"), "$2\r\nab\r\n$1\r\nc\r\n");
}

TEST_F(RedisSessions, ChecksTheNumberOfArguments) {
  const std::pair<Bytes, Bytes> examples[] = {
      {"echo\r\n", "-ERR wrong number of arguments for 'echo' command\r\n"},
      {"ping a b\r\n", "-ERR wrong number of arguments for 'ping' command\r\n"},
      {"CLIENT SETNAME\r\n", "-ERR wrong number of arguments for 'client|setname' command\r\n"},
      {"CLIENT\r\n", "-ERR wrong number of arguments for 'client' command\r\n"},
      {"CLIENT nosuch\r\n", "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.\r\n"},
      {"client|id\r\n", "-ERR unknown command 'client|id', with args beginning with: \r\n"},
  };
  for (const auto &[request, reply] : examples) EXPECT_EQ(send(request), reply) << request;
}

TEST_F(RedisSessions, TheVersionOfRepliesChangesAfterHello) {
  const std::string answer = send(
      "client getname\r\nHELLO 3 SETNAME me\r\nclient info\r\nconfig get maxmemory\r\nhello 2\r\n"
      "client getname\r\nconfig get maxmemory\r\n");
  EXPECT_TRUE(answer.starts_with("$-1\r\n%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n")) << answer;
  EXPECT_NE(answer.find("txt:id="), std::string::npos) << answer;
  EXPECT_NE(answer.find("%1\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n*14\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("$2\r\nme\r\n*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n")) << answer;
  EXPECT_EQ(send("HELLO 4\r\nHELLO x\r\nHELLO 3 SETNAME\r\n"),
            "-NOPROTO unsupported protocol version\r\n-ERR Protocol version is not an integer or out of range\r\n"
            "-ERR Syntax error in HELLO option 'SETNAME'\r\n");
}

TEST_F(RedisSessions, NothingRunsAfterQuit) {
  EXPECT_EQ(send("QUIT\r\nPING\r\n"), "+OK\r\n");
  EXPECT_TRUE(connection().closed());
}

TEST_F(RedisSessions, AProtocolErrorIsAnsweredAfterEarlierCommandsAndCloses) {
  EXPECT_EQ(send("PING\r\n*1\r\nx"), "+PONG\r\n-ERR Protocol error: expected '$', got 'x'\r\n");
  EXPECT_TRUE(connection().closed());
}

TEST_F(RedisSessions, HttpIsHungUpOn) {
  EXPECT_EQ(send("POST / HTTP/1.1\r\nPING\r\n"), "");
  EXPECT_TRUE(connection().closed());
  EXPECT_EQ(connection(1).send("Host: localhost\r\nPING\r\n"), "");
  EXPECT_TRUE(connection(1).closed());
}

TEST_F(RedisSessions, RepliesMayBeUnwanted) {
  EXPECT_EQ(send("client reply skip\r\nping\r\necho a\r\n"), "$1\r\na\r\n");
  EXPECT_EQ(send("client reply off\r\nping\r\nnosuch\r\nclient reply skip\r\nping\r\n"), "");
  EXPECT_EQ(send("ping\r\nclient reply on\r\nping\r\n"), "+OK\r\n+PONG\r\n");
}

TEST_F(RedisSessions, ResetForgets) {
  EXPECT_EQ(send("client setname me\r\nselect 3\r\nreset\r\nclient getname\r\n"), "+OK\r\n+OK\r\n+RESET\r\n$-1\r\n");
  EXPECT_NE(send("client info\r\n").find(" db=0 "), std::string::npos);
}

TEST_F(RedisSessions, ClientsAreListedAndLeaveTheList) {
  connection(1).send("client setname one\r\nclient setinfo lib-name x\r\n");
  connection(2).send("client setname two\r\n");
  std::string list = send("client list\r\n");
  EXPECT_NE(list.find("name=one"), std::string::npos) << list;
  EXPECT_NE(list.find("name=two"), std::string::npos) << list;
  connections_.erase(1);
  list = send("client list\r\n");
  EXPECT_EQ(list.find("name=one"), std::string::npos) << list;
  EXPECT_NE(list.find("name=two"), std::string::npos) << list;
  EXPECT_EQ(send("client kill id 999999\r\n"), ":0\r\n");
  EXPECT_NE(send("client setinfo lib-name abc\r\nclient setinfo lib-ver 1.2\r\nclient info\r\n")
                .find(" qbuf=70 qbuf-free=0 argv-mem=0 multi-mem=0 "),
            std::string::npos);
  EXPECT_NE(send("client info\r\n").find(" resp=2 lib-name=abc lib-ver=1.2\n"), std::string::npos);
  connection(2).send("multi\r\nget a\r\nget");
  const std::string queued = send("client list\r\n");
  EXPECT_NE(queued.find(" multi=1 qbuf=3 "), std::string::npos) << queued;
  EXPECT_EQ(queued.find(" multi=1 qbuf=3 qbuf-free=0 argv-mem=0 multi-mem=0 "), std::string::npos) << queued;
}

TEST_F(RedisSessions, CommandsKnowThemselves) {
  EXPECT_EQ(send("command getkeys ping x\r\n"), "-ERR The command has no key arguments\r\n");
  EXPECT_EQ(send("command info nosuch\r\n"), "*1\r\n$-1\r\n");
  EXPECT_TRUE(send("command docs ping\r\n").starts_with("*2\r\n$4\r\nping\r\n*6\r\n"));
  const std::string all = send("command\r\n");
  const std::string count = send("command count\r\n");
  EXPECT_TRUE(all.starts_with("*" + count.substr(1)));
  for (const Command &command : commands()) EXPECT_EQ(find_command(command.name), &command) << command.name;
}

TEST_F(RedisAccounts, NothingIsAnsweredBeforeALogin) {
  make({.accounts = true});
  EXPECT_EQ(send("ping\r\necho\r\nnosuch\r\n"),
            "-NOAUTH Authentication required.\r\n-ERR wrong number of arguments for 'echo' command\r\n"
            "-ERR unknown command 'nosuch', with args beginning with: \r\n");
  EXPECT_TRUE(send("hello 3\r\n").starts_with("-NOAUTH HELLO must be called with the client already authenticated"));
  EXPECT_EQ(send("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_TRUE(connection().closed());
}

TEST_F(RedisAccounts, ALoginThatFailsChangesNothing) {
  engine_.create_account("app", "secret");
  make({.accounts = true, .default_account = "app"});
  const std::string refused = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  EXPECT_EQ(send("auth app wrong\r\nping\r\nauth app secret\r\nping\r\nauth app wrong\r\nping\r\n"),
            refused + "-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n" + refused + "+PONG\r\n");
  EXPECT_NE(send("client info\r\n").find(" user=app "), std::string::npos);
  EXPECT_EQ(send("reset\r\nping\r\nauth secret\r\nping\r\n"),
            "+RESET\r\n-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n");
}

TEST_F(RedisAccounts, HelloLogsIn) {
  engine_.create_account("app", "secret");
  make({.accounts = true});
  EXPECT_EQ(send("hello 3 auth app wrong setname me\r\n"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_TRUE(send("hello 3 auth app secret setname me\r\n").starts_with("%7\r\n"));
  EXPECT_EQ(send("client getname\r\nconfig get nosuch\r\n"), "$2\r\nme\r\n%0\r\n");
  EXPECT_TRUE(send("auth secret\r\n").starts_with("-ERR AUTH <password> called without any password configured"));
}

TEST_F(RedisAccounts, ConnectionsOfOthersAreNotSeen) {
  engine_.create_account("app", "secret");
  engine_.create_account("other", "secret");
  make({.accounts = true});
  connection(1).send("auth other secret\r\nclient setname theirs\r\n");
  send("auth app secret\r\n");
  EXPECT_EQ(send("client list\r\n").find("theirs"), std::string::npos);
  EXPECT_TRUE(send("client kill id 1\r\n").starts_with("-NOPERM "));
}

TEST_F(RedisAccounts, WithoutAccountsThereIsOneUser) {
  EXPECT_EQ(send("auth default any\r\nauth some any\r\n"),
            "+OK\r\n-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_TRUE(send("auth any\r\n").starts_with("-ERR AUTH <password> called without any password configured"));
}

}  // namespace
}  // namespace postern::redis
