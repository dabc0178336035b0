// Functions in whole sessions, over the engine in memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/lua/library_text.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

class RedisFunctions : public RedisTest {
 protected:
  RedisFunctions() {
    create_keyspace(engine_);
    make({});
  }
  std::string ask(const std::vector<std::string> &words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string &word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return send(bytes);
  }
  static std::string library(const std::string &name, const std::string &function, const std::string &body) {
    return "#!lua name=" + name + "\nredis.register_function('" + function + "', function(keys, args) " + body +
           " end)";
  }
};

TEST_F(RedisFunctions, AFunctionIsCalledWithKeysAndArguments) {
  EXPECT_EQ(ask({"FUNCTION", "LOAD", library("l", "f", "return redis.call('set', keys[1], args[1])")}), "$1\r\nl\r\n");
  EXPECT_EQ(ask({"FCALL", "F", "1", "k", "v"}), "+OK\r\n");
  EXPECT_EQ(ask({"GET", "k"}), "$1\r\nv\r\n");
  EXPECT_EQ(ask({"FCALL", "g", "0"}), "-ERR Function not found\r\n");
  EXPECT_EQ(ask({"FUNCTION", "DELETE", "l"}), "+OK\r\n");
  EXPECT_EQ(ask({"FCALL", "f", "0"}), "-ERR Function not found\r\n");
}

TEST_F(RedisFunctions, ACallSharesATurnOnceItsLibraryIsKnown) {
  ask({"FUNCTION", "LOAD", library("l", "f", "return redis.call('incr', 'n')")});
  EXPECT_EQ(ask({"FCALL", "f", "0"}), ":1\r\n");
  const uint64_t before = connection().slow_finds();
  EXPECT_EQ(ask({"FCALL", "f", "0"}), ":2\r\n");
  EXPECT_EQ(connection().slow_finds(), before);
}

TEST_F(RedisFunctions, NothingOfALibraryStaysForTheNextCall) {
  ask({"FUNCTION", "LOAD",
       "#!lua name=l\nlocal n = 0\nredis.register_function('f', function() n = n + 1 return n end)"});
  EXPECT_EQ(ask({"FCALL", "f", "0"}) + ask({"FCALL", "f", "0"}), ":1\r\n:1\r\n");
}

TEST_F(RedisFunctions, ALoadThatIsLeftHalfWayChangesNothingForScripts) {
  EXPECT_TRUE(ask({"FUNCTION", "LOAD", "#!lua name=l\nwhile true do end"}).ends_with("FUNCTION LOAD timeout\r\n"));
  EXPECT_EQ(ask({"EVAL", "return math.max(1, 2)", "0"}), ":2\r\n");
  EXPECT_EQ(
      ask({"FUNCTION", "STATS"}),
      "*4\r\n$14\r\nrunning_script\r\n$-1\r\n$7\r\nengines\r\n*2\r\n$3\r\nLUA\r\n*4\r\n$15\r\nlibraries_count\r\n:0\r\n"
      "$15\r\nfunctions_count\r\n:0\r\n");
}

TEST(LibraryText, TheFirstLineIsSplitAsRedisSplitsIt) {
  const auto words = [](Bytes line) {
    std::vector<std::string> all;
    const bool valid = split_words(line, [&](std::string word) { all.push_back(std::move(word)); });
    return valid ? all : std::vector<std::string>{"invalid"};
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(" #!lua\tname=\"a\\x41\\n\"  b'c'"), (Words{"#!lua", "name=aA\n", "bc"}));
  EXPECT_EQ(words("'it\\'s' \"\""), (Words{"it's", ""}));
  EXPECT_EQ(words("\"a\"b"), Words{"invalid"});
  EXPECT_EQ(words("'a"), Words{"invalid"});
  EXPECT_EQ(words("\"a\\"), Words{"invalid"});
}

}  // namespace
}  // namespace postern::redis
