// A session's answers when the engine fails, its batches are lost or the client sends nonsense.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "memcached/testing/memcached_test_fixture.h"

namespace postern::memcached {
namespace {

using test::LoneConnection;
using Type = FakeEngine::Type;
using Cell = FakeEngine::Cell;
using McFaults = MemcachedTest;

TEST_F(McFaults, AFailureInTheMiddleOfAGetIsAnsweredOnce) {
  install();
  send("set a 0 0 1\r\n1\r\n");
  engine_.set_engine_error("test", "plain", 126);
  const std::string told = send("get a @@plain.1 @@aaa.a @@plain.2 @@aaa.a\r\nget a\r\n");
  EXPECT_TRUE(told.starts_with("VALUE a 0 1\r\n1\r\nSERVER_ERROR ")) << told;
  EXPECT_TRUE(told.ends_with("\r\nVALUE a 0 1\r\n1\r\nEND\r\n")) << told;
  EXPECT_EQ(told.find("END\r\n"), told.size() - 5) << told;
}

TEST_F(McFaults, AFailureEndsTheAnswerHoweverTheLineIsCut) {
  install();
  send("set a 0 0 1\r\n1\r\n");
  engine_.set_engine_error("test", "plain", 126);
  const std::string line = "get a @@plain.1 @@aaa.a @@plain.2 @@aaa.a\r\nget a\r\n";
  const std::string whole = send(line);
  EXPECT_EQ(connection(1).send_byte_by_byte(line), whole);
}

TEST_F(McFaults, LostAndInterruptedBatchesAnswerTheSame) {
  install();
  policies({"cache_policy", "innodb_only", "innodb_only", "innodb_only", "innodb_only"});
  const std::string session =
      "set a 1 0 2\r\n10\r\nincr a 5\r\nadd a 0 0 1\r\nx\r\nadd b 0 0 1\r\n1\r\nget a b c\r\nappend b 0 0 1\r\n2\r\n"
      "gat 0 a b\r\ndelete a\r\ndelete a\r\nma n N0 J3 v\r\nma n v\r\nget @@plain.1 @@aaa.b\r\ndelete b\r\ndelete "
      "n\r\n";
  const std::string expected = send(session);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    engine_.set_faults({.seed = seed, .busy = 50, .pause = 50, .error = 0, .locked = 50, .lost = 200});
    executor_ = engine_.attach({}, stop_);
    LoneConnection faulty(*protocol_, *executor_);
    EXPECT_EQ(faulty.send(session), expected) << "seed " << seed;
    engine_.set_faults({});
  }
}

TEST_F(McFaults, MemoryIsChangedOnceHoweverOftenABatchIsLost) {
  install();
  policies({"cache_policy", "innodb_only", "cache_only", "innodb_only", "innodb_only"});
  send("set n 0 0 1\r\n0\r\n");
  uint64_t number = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    engine_.insert("test", "demo_test", {"x", "1", "0", "0", "0"});
    engine_.set_faults({.seed = seed, .lost = 500});
    executor_ = engine_.attach({}, stop_);
    LoneConnection faulty(*protocol_, *executor_);
    ++number;
    EXPECT_EQ(faulty.send("incr n 1\r\ndelete x\r\n"), std::to_string(number) + "\r\nDELETED\r\n") << "seed " << seed;
    engine_.set_faults({});
  }
}

// --- any bytes --------------------------------------------------------------------------------------------------

/// A session of valid, nearly valid and invalid commands.
std::string random_session(std::mt19937_64 &random) {
  static const char *const keys[] = {"a",          "b",       "@@plain.1", "@@wide.1|x", "@@aaa.a",
                                     "@@nobody.1", "@@plain", "1",         "1|x",        ""};
  static const char *const pieces[] = {"get ",   "gat 0 ",    " ",          "\r\n",     "set ",     " 0 0 1\r\n",
                                       "1\r\n",  "incr ",     "delete ",    " noreply", "mg ",      " v t f",
                                       "ms ",    " 1 MA\r\n", "x\r\n",      "ma ",      " N0 J5 v", "flush_all\r\n",
                                       "touch ", "mn\r\n",    " 0 0 3\r\n", "\x80\n",   "\xff",     "@@"};
  const auto pick = [&](const auto &from) { return std::string(from[random() % std::size(from)]); };
  std::string session;
  for (uint64_t left = random() % 40; left > 0; --left) {
    const std::string key = pick(keys);
    switch (random() % 8) {
      case 0: session += "get " + key + " " + pick(keys) + " " + pick(keys) + "\r\n"; break;
      case 1: session += "set " + key + " 1 0 2\r\n12\r\n"; break;
      case 2: session += "add " + key + " 0 -1 1\r\n7\r\n"; break;
      case 3: session += "incr " + key + " 3\r\n"; break;
      case 4: session += "append " + key + " 0 0 1 noreply\r\n5\r\n"; break;
      case 5: session += "mg " + key + " v f k q\r\nmn\r\n"; break;
      case 6: session += "delete " + key + "\r\n"; break;
      case 7:
        for (uint64_t more = random() % 6; more > 0; --more) session += pick(pieces) + pick(keys);
        break;
    }
  }
  return session;
}

TEST_F(McFaults, AnySessionAnswersTheSameHoweverItIsCutAndWhateverGoesWrong) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string session = random_session(random);
    std::string answers[3];
    bool closed[3];
    for (int way = 0; way < 3; ++way) {
      connections_.clear();
      engine_.set_faults({});
      install();
      make({});
      read_mappings();
      if (way == 2) {
        engine_.set_faults({.seed = seed, .busy = 30, .pause = 30, .locked = 30, .lost = 100});
        executor_ = engine_.attach({}, stop_);
      }
      LoneConnection one(*protocol_, *executor_);
      answers[way] = way == 1 ? one.send_byte_by_byte(session) : one.send(session);
      closed[way] = one.closed();
    }
    EXPECT_EQ(answers[1], answers[0]) << "cut, seed " << seed;
    EXPECT_EQ(answers[2], answers[0]) << "with faults, seed " << seed;
    EXPECT_EQ(closed[1], closed[0]) << seed;
  }
  EXPECT_EQ(engine_.bindings(), 0u);
}

}  // namespace
}  // namespace postern::memcached
