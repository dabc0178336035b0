// Scripts in whole sessions, over the engine in memory.
#include "redis/scripts/script_run.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "redis/testing/fake_keyspace.h"
#include "redis/testing/redis_test_fixture.h"

namespace postern::redis {
namespace {

class RedisScripts : public RedisTest {
 protected:
  RedisScripts() {
    create_keyspace(engine_);
    make({});
  }
  static std::string request(const std::vector<std::string> &words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string &word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return bytes;
  }
  std::string ask(const std::vector<std::string> &words) { return send(request(words)); }
  std::string eval(const std::string &script) { return ask({"EVAL", script, "0"}); }
};

TEST_F(RedisScripts, CommandsAnswerToTheScriptAndTheScriptToItsClient) {
  EXPECT_EQ(ask({"EVAL", "redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])", "1", "k", "v"}),
            "$1\r\nv\r\n");
  EXPECT_EQ(ask({"GET", "k"}), "$1\r\nv\r\n");
  EXPECT_EQ(eval("return {redis.call('hset', 'h', 'f', 'x'), redis.call('hget', 'h', 'f')}"),
            "*2\r\n:1\r\n$1\r\nx\r\n");
  EXPECT_EQ(connection().slow_finds(), 0u) << "a short script shares a turn";
}

TEST_F(RedisScripts, AScriptThatFailsIsUndoneUnlessTheSettingsSayOtherwise) {
  const std::string script = "redis.call('set', 'a', 1) redis.call('rpush', 'l', 'x') return redis.call('incr', 'l')";
  EXPECT_TRUE(eval(script).starts_with("-WRONGTYPE "));
  EXPECT_EQ(ask({"EXISTS", "a", "l"}), ":0\r\n");
  make({.script_rolls_back = false});
  EXPECT_TRUE(eval(script).starts_with("-WRONGTYPE "));
  EXPECT_EQ(ask({"EXISTS", "a", "l"}), ":2\r\n");
}

TEST_F(RedisScripts, ACommandThatFailsIsUndoneByItself) {
  EXPECT_EQ(eval("redis.call('set', 's', 'x') redis.pcall('lpush', 's', 1) redis.pcall('hset', 's', 'f', 1) "
                 "redis.call('rpush', 'l', 'a') return redis.pcall('incr', 'l').err"),
            "$65\r\nWRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(ask({"EXISTS", "s", "l"}), ":2\r\n");
}

TEST_F(RedisScripts, AStringTakesThePlaceOfAnyKey) {
  EXPECT_EQ(eval("redis.call('rpush', 'l', 'a') redis.call('hset', 'h', 'f', 'x') redis.call('set', 'l', 5) "
                 "redis.call('mset', 'n', 1, 'h', 2) return {redis.call('incr', 'l'), redis.call('incr', 'h')}"),
            "*2\r\n:6\r\n:3\r\n");
  EXPECT_EQ(eval("redis.call('rpush', 'l2', 'a') redis.call('sadd', 's', 'm') "
                 "return {redis.call('del', 'l2'), redis.call('getdel', 'n'), redis.pcall('incr', 's').err}"),
            "*3\r\n:1\r\n$1\r\n1\r\n$65\r\nWRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(ask({"LLEN", "l2"}), ":0\r\n");
  send(request({"MULTI"}) + request({"RPUSH", "l3", "a", "b"}) + request({"HSET", "h3", "f", "x"}) +
       request({"HSET", "l3", "f", "x"}) + request({"SET", "l3", "v"}) + request({"LPOP", "h3"}));
  const std::string answer = ask({"EXEC"});
  EXPECT_TRUE(answer.starts_with("*5\r\n:2\r\n:1\r\n-WRONGTYPE ")) << answer;
  EXPECT_NE(answer.find("+OK\r\n-WRONGTYPE "), std::string::npos) << answer;
  EXPECT_EQ(ask({"GET", "l3"}), "$1\r\nv\r\n");
  EXPECT_EQ(ask({"HGET", "h3", "f"}), "$1\r\nx\r\n");
}

TEST_F(RedisScripts, CommandsAreCalledFromWithinFunctionsOfLua) {
  EXPECT_EQ(eval("local ok, e = pcall(function() return redis.call('nosuch') end) return e"),
            "$44\r\nERR Unknown Redis command called from script\r\n");
  EXPECT_EQ(eval("return (string.gsub('ab', '%a', function(c) return redis.call('append', 'k', c) end))"),
            "$2\r\n12\r\n");
  EXPECT_EQ(eval("local t = {2, 1} table.sort(t, function(a, b) redis.call('incr', 'n') return a < b end) return t"),
            "*2\r\n:1\r\n:2\r\n");
  EXPECT_EQ(eval("return coroutine.wrap(function() return redis.call('exists', 'k', 'n') end)()"), ":2\r\n");
}

TEST_F(RedisScripts, NothingStaysOfAScriptForTheNextOne) {
  EXPECT_TRUE(eval("x = 1").starts_with("-ERR user_script:1: Attempt to modify a readonly table script: "));
  EXPECT_TRUE(eval("return x").starts_with("-ERR user_script:1: Script attempted to access nonexistent global"));
  EXPECT_TRUE(eval("string.x = 1").starts_with("-ERR user_script:1: Attempt to modify a readonly table"));
  EXPECT_TRUE(eval("getmetatable('').__index = {}").starts_with("-ERR user_script:1: Attempt to modify"));
  eval("cjson.encode_number_precision(2) setfenv(0, {}) setfenv(1, {})");
  EXPECT_EQ(eval("return cjson.encode(3.14159) .. type(redis)"), "$12\r\n3.14159table\r\n");
}

TEST_F(RedisScripts, AScriptThatIsTooMuchForATurnIsRunAlone) {
  EXPECT_EQ(eval("local n = 0 for i = 1, 1000000 do n = n + 1 end redis.call('set', 'n', n) return n"), ":1000000\r\n");
  EXPECT_EQ(connection().slow_finds(), 1u);
  EXPECT_EQ(eval("for i = 1, 300 do redis.call('incr', 'm') end return redis.call('get', 'm')"), "$3\r\n300\r\n");
  EXPECT_EQ(connection().slow_finds(), 2u);
}

TEST_F(RedisScripts, AScriptIsBoundedInTimeAndMemory) {
  make({.script_time_ms = 50, .script_bytes_max = size_t{1} << 20});
  EXPECT_TRUE(
      eval("redis.call('set', 'a', 1) while true do pcall(error) end").starts_with("-ERR Error running script"));
  EXPECT_EQ(ask({"EXISTS", "a"}), ":0\r\n");
  const std::string greedy = eval("local s = 'x' while true do s = s .. s end");
  EXPECT_NE(greedy.find("not enough memory"), std::string::npos) << greedy;
  EXPECT_TRUE(eval("return ('a'):rep(1000):find(('a?'):rep(1000) .. ('a'):rep(1001))").starts_with("-ERR "));
  EXPECT_TRUE(eval("return ('a'):rep(9000):find(('.?'):rep(9000) .. 'b')").starts_with("-ERR "));
  EXPECT_TRUE(eval("local t = {} for i = 1, 60 do t = {t, t} end return t").starts_with("-ERR Error running script"));
  EXPECT_EQ(eval("return 1"), ":1\r\n");
}

TEST_F(RedisScripts, ScriptsAreKnownByTheirNames) {
  const std::string name = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  EXPECT_EQ(ask({"EVALSHA", name, "0"}), "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  // In order, although they arrive together.
  EXPECT_EQ(
      send(request({"SCRIPT", "LOAD", "return 1"}) + request({"EVALSHA", name, "0"}) +
           request({"SCRIPT", "EXISTS", name, "x"}) + request({"SCRIPT", "FLUSH"}) + request({"EVALSHA", name, "0"})),
      "$40\r\n" + name + "\r\n:1\r\n*2\r\n:1\r\n:0\r\n+OK\r\n-NOSCRIPT No matching script. Please use EVAL.\r\n");
  EXPECT_TRUE(
      ask({"SCRIPT", "LOAD", "return +"}).starts_with("-ERR Error compiling script (new function): user_script:1:"));
}

TEST_F(RedisScripts, AScriptIsOneOfTheCommandsOfExec) {
  send(request({"MULTI"}) + request({"SET", "a", "1"}) +
       request({"EVAL", "redis.call('incr', 'a') redis.call('rpush', 'l', 1) return redis.call('nosuch')", "0"}) +
       request({"EVAL", "return redis.call('incr', 'a')", "0"}));
  const std::string answer = ask({"EXEC"});
  EXPECT_TRUE(answer.starts_with("*3\r\n+OK\r\n-ERR Unknown Redis command")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n:2\r\n")) << answer;
  EXPECT_EQ(ask({"EXISTS", "a", "l"}), ":1\r\n");
}

TEST_F(RedisScripts, MessagesLeaveWithTheScriptThatPublishedThem) {
  connection(1).send(request({"SUBSCRIBE", "c"}));
  EXPECT_EQ(eval("return {redis.call('publish', 'c', 'one'), redis.call('publish', 'c', 'two'), redis.call('ping')}"),
            "*3\r\n:1\r\n:1\r\n+PONG\r\n");
  EXPECT_TRUE(eval("redis.call('publish', 'c', 'lost') return redis.call('nosuch')").starts_with("-ERR Unknown Redis"));
  // It is restarted, and runs alone.
  eval("redis.call('publish', 'c', 'once') for i = 1, 100000 do end return 1");
  const std::string heard = connection(1).look_again();
  EXPECT_EQ(heard.find("lost"), std::string::npos) << heard;
  EXPECT_EQ(heard.find("once"), heard.rfind("once")) << heard;
}

TEST_F(RedisScripts, SomeCommandsAreNotForScripts) {
  for (const char *const command : {"'multi'", "'blpop', 'a', 0", "'eval', 'return 1', 0", "'auth', 'x'", "'reset'"})
    EXPECT_EQ(eval(std::string("return redis.pcall(") + command + ").err"),
              "$49\r\nERR This Redis command is not allowed from script\r\n")
        << command;
  EXPECT_EQ(ask({"EVAL_RO", "return redis.pcall('set', 'a', 1).err", "0"}),
            "$58\r\nERR Write commands are not allowed from read-only scripts.\r\n");
  EXPECT_EQ(eval("redis.call('select', 5) redis.call('echo', 'x') return 1"), ":1\r\n");
  EXPECT_NE(ask({"CLIENT", "INFO"}).find(" db=0 "), std::string::npos);
}

}  // namespace
}  // namespace postern::redis
