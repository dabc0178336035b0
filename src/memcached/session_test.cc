// Whole sessions: the rows after commands, and the rights of clients.
#include "memcached/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memcached/testing/memcached_test_fixture.h"

namespace postern::memcached {
namespace {

using Type = FakeEngine::Type;
using Cell = FakeEngine::Cell;
using McCommands = MemcachedTest;
using McExpiry = MemcachedTest;
using McColumns = MemcachedTest;
using McAccounts = MemcachedTest;
using McPolicies = MemcachedTest;

// --- commands ---------------------------------------------------------------------------------------------------

TEST_F(McCommands, StoreAndFetch) {
  install();
  EXPECT_EQ(send("set k 7 0 5\r\nhello\r\nget k\r\nget k x k\r\n"),
            "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\nVALUE k 7 5\r\nhello\r\nVALUE k 7 5\r\nhello\r\nEND\r\n");
  EXPECT_EQ(
      send("add k 0 0 1\r\nx\r\nadd n 0 0 1\r\nx\r\nreplace k 1 0 1\r\ny\r\nreplace m 0 0 1\r\ny\r\nget k n m\r\n"),
      "NOT_STORED\r\nSTORED\r\nSTORED\r\nNOT_STORED\r\nVALUE k 1 1\r\ny\r\nVALUE n 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(send("append k 0 0 1\r\n>\r\nprepend k 0 0 1\r\n<\r\nappend m 0 0 1\r\n>\r\nget k\r\n"),
            "STORED\r\nSTORED\r\nNOT_STORED\r\nVALUE k 1 3\r\n<y>\r\nEND\r\n");
  EXPECT_EQ(send("delete k\r\ndelete k\r\nget k\r\n"), "DELETED\r\nNOT_FOUND\r\nEND\r\n");
}

TEST_F(McCommands, Noreply) {
  install();
  EXPECT_EQ(send("set k 0 0 1 noreply\r\n1\r\nadd k 0 0 1 noreply\r\n2\r\nincr k 1 noreply\r\nincr z 1 noreply\r\n"
                 "delete z noreply\r\nget k\r\n"),
            "VALUE k 0 1\r\n2\r\nEND\r\n");
}

TEST_F(McCommands, Counting) {
  install();
  EXPECT_EQ(
      send("set n 0 0 1\r\n9\r\nincr n 1\r\ndecr n 3\r\ndecr n 100\r\nincr n 18446744073709551615\r\nincr n 2\r\n"),
      "STORED\r\n10\r\n7\r\n0\r\n18446744073709551615\r\n1\r\n");
  EXPECT_EQ(send("incr m 1\r\nset n 0 0 1\r\nx\r\nincr n 1\r\n"),
            "NOT_FOUND\r\nSTORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
}

TEST_F(McCommands, CompareAndSet) {
  install();
  send("set k 0 0 1\r\n1\r\n");
  const std::string cas = *row("demo_test")[3];
  EXPECT_EQ(send("gets k\r\n"), "VALUE k 0 1 " + cas + "\r\n1\r\nEND\r\n");
  EXPECT_EQ(send("cas k 0 0 1 " + cas + "\r\n2\r\ncas k 0 0 1 " + cas + "\r\n3\r\ncas z 0 0 1 1\r\n3\r\nget k\r\n"),
            "STORED\r\nEXISTS\r\nNOT_FOUND\r\nVALUE k 0 1\r\n2\r\nEND\r\n");
  EXPECT_NE(*row("demo_test")[3], cas);
  EXPECT_EQ(send("cas @@plain.1 0 0 1 5\r\n3\r\n"), "CLIENT_ERROR The container has no cas_column\r\n");
}

TEST_F(McCommands, EveryWriteMakesALargerCas) {
  install();
  uint64_t last = 0;
  for (const char *command : {"set k 0 0 1\r\n1\r\n", "append k 0 0 1\r\n1\r\n", "incr k 1\r\n",
                              "replace k 0 0 1\r\n1\r\n", "delete k\r\nadd k 0 0 1\r\n1\r\n"}) {
    send(command);
    const uint64_t cas = std::stoull(*row("demo_test")[3]);
    EXPECT_GT(cas, last) << command;
    last = cas;
  }
}

TEST_F(McCommands, FlushEmptiesTheContainerInUse) {
  install();
  send("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\nset @@plain.1 0 0 1\r\n1\r\nget @@aaa\r\n");
  EXPECT_EQ(send("flush_all\r\nget a b\r\n"), "OK\r\nEND\r\n");
  EXPECT_EQ(engine_.rows("test", "demo_test").size(), 0u);
  EXPECT_EQ(engine_.rows("test", "plain").size(), 1u);
}

TEST_F(McCommands, MetaMakesItemsWhereThereAreNone) {
  install();
  EXPECT_EQ(send("ma n N0 J5 v\r\nma n N0 J5 v\r\n"), "VA 1\r\n5\r\nVA 1\r\n6\r\n");
  EXPECT_EQ(send("ms s 1 MA N0\r\na\r\nms s 1 MA N0\r\nb\r\nmg s v\r\n"), "HD\r\nHD\r\nVA 2\r\nab\r\n");
  EXPECT_EQ(send("mg s T100 t\r\nmn\r\n"), "HD t100\r\nMN\r\n");
}

TEST_F(McCommands, StatisticsCount) {
  install();
  send("set k 0 0 1\r\n1\r\nget k x\r\nincr k 1\r\ndelete x\r\n");
  const std::string told = send("stats\r\n");
  for (const char *line : {"STAT cmd_get 2\r\n", "STAT get_hits 1\r\n", "STAT get_misses 1\r\n", "STAT cmd_set 1\r\n",
                           "STAT incr_hits 1\r\n", "STAT delete_misses 1\r\n"})
    EXPECT_NE(told.find(line), std::string::npos) << line << told;
  EXPECT_TRUE(told.ends_with("END\r\n"));
  EXPECT_EQ(send("stats reset\r\n"), "RESET\r\n");
  EXPECT_NE(send("stats\r\n").find("STAT cmd_get 0\r\n"), std::string::npos);
  EXPECT_NE(send("stats settings\r\n").find("STAT item_size_max "), std::string::npos);
}

TEST_F(McCommands, StatisticsCountByPrefix) {
  install();
  EXPECT_EQ(send("set foo:1 0 0 1\r\nx\r\nstats detail dump\r\nstats detail on\r\n"), "STORED\r\nEND\r\nOK\r\n");
  EXPECT_EQ(send("set foo:1 0 0 1\r\nx\r\nget foo:1 foo:2 bar\r\nmg bar:1\r\nstats detail dump\r\n"),
            "STORED\r\nVALUE foo:1 0 1\r\nx\r\nEND\r\nEN\r\n"
            "PREFIX bar get 1 hit 0 set 0 del 0\r\nPREFIX foo get 2 hit 1 set 1 del 0\r\nEND\r\n");
  EXPECT_EQ(send("stats reset\r\ndelete foo:3\r\nstats detail off\r\ndelete foo:3\r\nstats detail dump\r\n"),
            "RESET\r\nNOT_FOUND\r\nOK\r\nNOT_FOUND\r\nPREFIX foo get 0 hit 0 set 0 del 1\r\nEND\r\n");
}

TEST_F(McCommands, StatisticsKeepABoundedNumberOfPrefixes) {
  Prefixes prefixes;
  for (size_t i = 0; i < Prefixes::prefixes_max + 10; ++i)
    prefixes.count(ItemAction::set, std::to_string(i) + ":", false);
  size_t lines = 0;
  prefixes.tell([&lines](Bytes) { ++lines; });
  EXPECT_EQ(lines, Prefixes::prefixes_max);
}

TEST_F(McCommands, StatisticsOfTheBinaryDialectTakeAWordAfterTheKey) {
  install();
  const auto ask = [&](const std::string &key) {
    std::string packet("\x80\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    packet[3] = packet[11] = static_cast<char>(key.size());
    return connection(1).send(packet + key);
  };
  const std::string end("\x81\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  for (const char *key : {"reset", "detail on", "detail off"}) EXPECT_EQ(ask(key), end) << key;
  const std::string dump = ask("detail dump");
  EXPECT_EQ(dump.substr(24), "detailedEND\r\n" + end);
  for (const char *key : {"detail", "detail x", "cachedump 1 1", "conns", "x"})
    EXPECT_EQ(ask(key).substr(24), "Not found") << key;
}

TEST_F(McCommands, StatisticsCountValuesThatAreTooLarge) {
  install();
  send("set k 0 0 1000000000\r\n");
  EXPECT_NE(connection(1).send("stats\r\n").find("STAT store_too_large 1\r\n"), std::string::npos);
}

TEST_F(McCommands, HangsUpOnABrowser) {
  install();
  EXPECT_EQ(send("set a 0 0 1\r\nx\r\nPOST / HTTP/1.1\r\nHost: a\r\n\r\nflush_all\r\n"), "STORED\r\n");
  EXPECT_TRUE(connection().closed());
  EXPECT_EQ(row("demo_test")[1], "x");
  EXPECT_EQ(connection(1).send("Host: a\r\nversion\r\n"), "");
  EXPECT_TRUE(connection(1).closed());
}

TEST_F(McCommands, QuitEnds) {
  install();
  EXPECT_EQ(send("get a\r\nquit\r\nget a\r\n"), "END\r\n");
  EXPECT_TRUE(connection().closed());
}

TEST_F(McCommands, CutAnywhereTheAnswersAreTheSame) {
  install();
  const std::string session =
      "set k 1 0 3\r\nabc\r\nget k x k\r\nadd k 0 0 1\r\n1\r\ngat 0 k k\r\nincr k 1\r\nget @@plain.1 @@aaa.k\r\ndelete "
      "k\r\n";
  const std::string whole = send(session);
  EXPECT_EQ(connection(1).send_byte_by_byte(session), whole);
  connection(2).ops_max = 1;
  EXPECT_EQ(connection(2).send(session), whole);
}

TEST_F(McCommands, TheFirstByteSelectsTheBinaryDialect) {
  install();
  const std::string noop = {'\x80', '\x0a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::string answer = send(noop);
  ASSERT_EQ(answer.size(), 24u);
  EXPECT_EQ(answer[0], '\x81');
  EXPECT_EQ(answer.substr(12, 4), noop.substr(12, 4));
}

TEST_F(McCommands, LargeValuesAreStreamed) {
  install();
  const std::string value(3'000'000, 'v');
  EXPECT_EQ(send("set k 0 0 3000000\r\n" + value + "\r\n"), "STORED\r\n");
  EXPECT_EQ(send("get k z k\r\nversion\r\n").size(),
            2 * (std::string("VALUE k 0 3000000\r\n\r\n").size() + value.size()) + std::string("END\r\n").size() +
                send("version\r\n").size());
  EXPECT_GT(connection().slow_finds(), 0u);
}

// --- expiry -----------------------------------------------------------------------------------------------------

TEST_F(McExpiry, AnExpiredItemIsNotThereAndGoesAway) {
  install();
  for (const char *key : {"a", "b", "c", "d", "e", "f"})
    engine_.insert("test", "demo_test", {key, "old", "3", "4", "1"});
  EXPECT_EQ(send("get a\r\n"), "END\r\n");
  EXPECT_EQ(engine_.rows("test", "demo_test").size(), 6u);
  EXPECT_EQ(send("version\r\n").substr(0, 7), "VERSION");
  EXPECT_EQ(engine_.rows("test", "demo_test").size(), 5u) << "the next request takes it along";
  EXPECT_EQ(send("add b 9 0 3\r\nnew\r\nget b\r\n"), "STORED\r\nVALUE b 9 3\r\nnew\r\nEND\r\n");
  EXPECT_EQ(send("replace c 0 0 1\r\n1\r\nincr d 1\r\ntouch d 0\r\ngat 0 d\r\nappend d 0 0 1\r\n1\r\ndelete e\r\n"),
            "NOT_STORED\r\nNOT_FOUND\r\nNOT_FOUND\r\nEND\r\nNOT_STORED\r\nNOT_FOUND\r\n");
  EXPECT_EQ(send("ma f N0 J7 v\r\nget f\r\n"), "VA 1\r\n7\r\nVALUE f 0 1\r\n7\r\nEND\r\n");
}

TEST_F(McExpiry, AnItemThatCameBackIsNotErased) {
  install();
  engine_.insert("test", "demo_test", {"a", "old", "0", "0", "1"});
  EXPECT_EQ(send("get a\r\n"), "END\r\n");
  connection(1).send("set a 0 0 3\r\nnew\r\n");
  EXPECT_EQ(send("get a\r\nget a\r\n"), "VALUE a 0 3\r\nnew\r\nEND\r\nVALUE a 0 3\r\nnew\r\nEND\r\n");
}

TEST_F(McExpiry, TimesAreStoredAsSecondsSince1970) {
  install();
  const int64_t before = ::time(nullptr);
  send("set a 0 100 1\r\n1\r\nset b 0 -1 1\r\n1\r\nset c 0 4000000000 1\r\n1\r\nset d 0 0 1\r\n1\r\n");
  const int64_t a = std::stoll(*row("demo_test", 0)[4]);
  EXPECT_GE(a, before + 100);
  EXPECT_LE(a, ::time(nullptr) + 100);
  EXPECT_EQ(row("demo_test", 1)[4], "1");
  EXPECT_EQ(row("demo_test", 2)[4], "4000000000");
  EXPECT_EQ(row("demo_test", 3)[4], "0");
  EXPECT_EQ(send("get a b c d\r\n").find("VALUE b"), std::string::npos);
  EXPECT_EQ(send("touch a 0\r\n"), "TOUCHED\r\n");
  EXPECT_EQ(row("demo_test", 0)[4], "0");
}

TEST_F(McExpiry, WithoutAColumnNothingExpires) {
  install();
  EXPECT_EQ(send("set @@plain.1 0 -1 1\r\n1\r\nget 1\r\ntouch 1 5\r\ntouch 2 5\r\ngat 5 1\r\n"),
            "STORED\r\nVALUE 1 0 1\r\n1\r\nEND\r\nTOUCHED\r\nNOT_FOUND\r\nVALUE 1 0 1\r\n1\r\nEND\r\n");
}

// --- columns ----------------------------------------------------------------------------------------------------

TEST_F(McColumns, SeveralKeysAndValuesAreJoined) {
  install();
  EXPECT_EQ(send("set @@wide.1|k 0 0 7\r\none|2|x\r\nset 1|k|2 0 0 3\r\ntwo\r\nset 1 0 0 1\r\nx\r\n"),
            "STORED\r\nSTORED\r\n"
            "CLIENT_ERROR The key has not as many parts as the container has key columns\r\n");
  EXPECT_EQ(row("wide", 0), (std::vector<Cell>{"1", "k", "one", "2", "x"}));
  EXPECT_EQ(row("wide", 1), (std::vector<Cell>{"1", "k|2", "two", std::nullopt, std::nullopt}));
  EXPECT_EQ(send("get 1|k 1|k|2\r\n"), "VALUE 1|k 0 7\r\none|2|x\r\nVALUE 1|k|2 0 5\r\ntwo||\r\nEND\r\n");
  EXPECT_EQ(send("set 1|k 0 0 9\r\na|5|b|c|d\r\nget 1|k\r\n"), "STORED\r\nVALUE 1|k 0 9\r\na|5|b|c|d\r\nEND\r\n");
  EXPECT_EQ(send("set 1|k 0 0 3\r\na|b\r\n").substr(0, 12), "CLIENT_ERROR");
}

TEST_F(McColumns, CountingAndJoiningChooseAColumnByFlags) {
  install();
  engine_.create("test", "flagged", {{"k", Type::text, false}, {"x", Type::text}, {"y"}, {"f"}}, {{"PRIMARY", {"k"}}});
  map({"flagged", "test", "flagged", "k", "x;y", "f", "0", "0", "PRIMARY"});
  EXPECT_EQ(send("set @@flagged.a 1 0 4\r\nab|5\r\nincr a 3\r\nappend a 0 0 1\r\n!\r\nget a\r\n"),
            "STORED\r\n8\r\nSTORED\r\nVALUE a 1 5\r\nab!|8\r\nEND\r\n");
  EXPECT_EQ(send("set a 9 0 3\r\n4|5\r\nincr a 3\r\nget a\r\n"), "STORED\r\n7\r\nVALUE a 9 3\r\n7|5\r\nEND\r\n");
}

TEST_F(McColumns, WhatDoesNotFitIsTheClientsFault) {
  install();
  EXPECT_EQ(send("set @@plain.x 0 0 1\r\n1\r\n").substr(0, 12), "CLIENT_ERROR");
  EXPECT_EQ(send("get x\r\nincr x 1\r\n"), "END\r\nNOT_FOUND\r\n");
}

// --- accounts ---------------------------------------------------------------------------------------------------

TEST_F(McAccounts, NothingIsAnsweredBeforeALogin) {
  install();
  make({.accounts = true});
  engine_.create_account("ann", "secret");
  engine_.allow("ann", "test", "demo_test");
  EXPECT_EQ(send("version\r\n").substr(0, 7), "VERSION");
  for (const char *command : {"get a\r\n", "get a b c\r\n", "delete a\r\n", "stats\r\n", "flush_all\r\n", "mn\r\n"}) {
    const std::string told = send(command);
    EXPECT_TRUE(told.starts_with("CLIENT_ERROR ")) << command << told;
    EXPECT_EQ(told.find("\r\n"), told.size() - 2) << "one line for " << command << told;
  }
  EXPECT_EQ(send("set x 0 0 9\r\nann wrong\r\nget a\r\n").find("STORED"), std::string::npos);
  EXPECT_EQ(send("set x 0 0 10\r\nann secret\r\nset k 0 0 1\r\n1\r\nget k\r\n"),
            "STORED\r\nSTORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n");
  const std::string denied = send("get @@plain.1\r\n");
  EXPECT_NE(denied.find("_ERROR"), std::string::npos) << denied;
  EXPECT_EQ(connection(1).send("get k\r\n").find("VALUE"), std::string::npos);
}

TEST_F(McAccounts, WhatCannotBeALoginIsNotTried) {
  install();
  make({.accounts = true});
  engine_.create_account("ann", "secret");
  engine_.create_account("nobody", "");
  for (const char *command :
       {"set x 0 0 6\r\nnobody\r\n", "set x 0 0 0\r\n\r\n", "set x 0 0 1\r\n \r\n", "set x 0 0 7\r\n secret\r\n",
        "set x 1 0 10\r\nann secret\r\n", "set x 0 60 10\r\nann secret\r\n", "set x 0 -1 10\r\nann secret\r\n",
        "cas x 0 0 10 1\r\nann secret\r\n", "add x 0 0 10\r\nann secret\r\n", "set x 0 0 11\r\nann secret\n\r\n",
        "set x 0 0 11\r\nan\1n secret\r\n", "ms x 10\r\nann secret\r\n"}) {
    const std::string told = send(command);
    EXPECT_TRUE(told.starts_with("CLIENT_ERROR ") && told.find("\r\n") == told.size() - 2) << command << told;
  }
  EXPECT_EQ(send("set x 0 0 10 noreply\r\nann secret\r\n"), "");
  Statistics::Sums sums;
  protocol_->statistics().add_to(sums);
  EXPECT_EQ(sums.get(Statistic::auth_cmds), 0u);
  EXPECT_EQ(send("set x 0 0 7\r\nnobody \r\n"), "STORED\r\n");
}

TEST_F(McAccounts, ABrowserGetsNoAnswer) {
  install();
  make({.accounts = true});
  EXPECT_EQ(send("GET / HTTP/1.1\r\n\r\nversion\r\n"), "");
  EXPECT_TRUE(connection().closed());
}

TEST_F(McAccounts, AStrangersValueIsShort) {
  install();
  make({.accounts = true});
  EXPECT_EQ(send("set x 0 0 1000000\r\n"), "SERVER_ERROR object too large for cache\r\n");
}

// --- policies ---------------------------------------------------------------------------------------------------

TEST_F(McPolicies, CacheOnlyNeverTouchesTheTable) {
  install();
  policies({"cache_policy", "cache_only", "cache_only", "cache_only", "cache_only"});
  EXPECT_EQ(send("set k 3 0 2\r\nhi\r\nget k\r\nadd k 0 0 1\r\n1\r\nappend k 0 0 1\r\n!\r\nget @@aaa.k\r\n"),
            "STORED\r\nVALUE k 3 2\r\nhi\r\nEND\r\nNOT_STORED\r\nSTORED\r\nVALUE @@aaa.k 3 3\r\nhi!\r\nEND\r\n");
  EXPECT_EQ(
      send("get @@plain.k\r\nget @@aaa\r\nset n 0 0 1\r\n1\r\nincr n 4\r\ndelete k\r\nget k n\r\n"),
      "END\r\nVALUE @@aaa 0 14\r\ntest/demo_test\r\nEND\r\nSTORED\r\n5\r\nDELETED\r\nVALUE n 0 1\r\n5\r\nEND\r\n");
  EXPECT_EQ(send("flush_all\r\nget n\r\n"), "OK\r\nEND\r\n");
  EXPECT_TRUE(engine_.rows("test", "demo_test").empty());
}

TEST_F(McPolicies, DisabledMissesAndSucceeds) {
  install();
  policies({"cache_policy", "disabled", "disabled", "disabled", "disabled"});
  engine_.insert("test", "demo_test", {"a", "x", "0", "0", "0"});
  EXPECT_EQ(send("get a b\r\nset a 0 0 1\r\n1\r\ndelete a\r\nflush_all\r\n"), "END\r\nSTORED\r\nDELETED\r\nOK\r\n");
  EXPECT_EQ(row("demo_test")[1], "x");
}

TEST_F(McPolicies, CachingIsTheTable) {
  install();
  policies({"cache_policy", "caching", "caching", "innodb_only", "disabled"});
  EXPECT_EQ(send("set a 0 0 1\r\n1\r\n"), "STORED\r\n");
  EXPECT_EQ(row("demo_test")[1], "1");
}

}  // namespace
}  // namespace postern::memcached
