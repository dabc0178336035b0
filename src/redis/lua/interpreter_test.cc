#include "redis/lua/interpreter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "redis/lua/sha1.h"

namespace postern::redis::lua {
namespace {

class Interpreters : public testing::Test {
 protected:
  using Stopped = Interpreter::Stopped;

  void begin(Bytes text) {
    result_.rewind(0);
    interpreter_->begin({.number = ++number_, .text = text, .name = "name"}, {.result = &result_});
  }
  std::string run(Bytes text) {
    begin(text);
    while (interpreter_->go_on() == Stopped::call) interpreter_->answer("+OK\r\n");
    return std::string(interpreter_->raised() ? interpreter_->error() : result_.written_since(0));
  }

  std::unique_ptr<Interpreter> interpreter_ = Interpreter::make(size_t{8} << 20);
  Output result_;
  uint64_t number_ = 0;
};

TEST_F(Interpreters, StopsForACallAndGoesOnWithItsReply) {
  begin("return {redis.call('GET', 'k', 1, 0.5), redis.pcall('x')}");
  ASSERT_EQ(interpreter_->go_on(), Stopped::call);
  ASSERT_EQ(interpreter_->call().size(), 4u);
  EXPECT_EQ(interpreter_->call()[1], "k");
  EXPECT_EQ(interpreter_->call()[2], "1");
  EXPECT_EQ(interpreter_->call()[3], "0.5");
  interpreter_->answer("$1\r\nv\r\n");
  ASSERT_EQ(interpreter_->go_on(), Stopped::call);
  interpreter_->answer("-ERR no\r\n");
  ASSERT_EQ(interpreter_->go_on(), Stopped::ended);
  EXPECT_EQ(result_.written_since(0), "*2\r\n$1\r\nv\r\n-ERR no\r\n");
}

TEST_F(Interpreters, AScriptThatIsAbandonedLeavesNothing) {
  begin("local co = coroutine.wrap(function() table.sort({3, 1, 2}, function() return redis.call('x') end) end) co()");
  ASSERT_EQ(interpreter_->go_on(), Stopped::call);
  interpreter_->abandon();
  EXPECT_EQ(run("return 1"), ":1\r\n");
  begin("while true do pcall(error) end");
  interpreter_->pause_after(10'000);
  ASSERT_EQ(interpreter_->go_on(), Stopped::paused);
  EXPECT_GE(interpreter_->instructions(), 10'000u);
  interpreter_->abandon();
  EXPECT_EQ(run("return 2"), ":2\r\n");
}

TEST_F(Interpreters, MemoryOfAbandonedScriptsIsCollected) {
  for (int i = 0; i < 200; ++i) {
    begin("local t = {} for i = 1, 10000 do t[i] = {} end redis.call('x')");
    ASSERT_EQ(interpreter_->go_on(), Stopped::call) << i;
    interpreter_->abandon();
  }
  interpreter_->collect();
  EXPECT_LT(interpreter_->bytes(), size_t{1} << 20);
}

TEST_F(Interpreters, ATextThatIsNoScriptSaysWhy) {
  EXPECT_FALSE(interpreter_->compile({.number = ++number_, .text = "return +"}));
  EXPECT_TRUE(interpreter_->error().starts_with("ERR Error compiling script (new function): user_script:1:"));
  EXPECT_FALSE(interpreter_->compile({.number = ++number_, .text = "\033Lua"}));
  EXPECT_TRUE(interpreter_->compile({.number = ++number_, .text = "return 1"}));
}

TEST_F(Interpreters, PatternsAreThoseOfLua) {
  const std::pair<Bytes, Bytes> examples[] = {
      {"return {string.find('a.b', '.', 1, true)}", "*2\r\n:2\r\n:2\r\n"},
      {"return {('k = v'):match('^(%w+)%s*=%s*(%w+)$')}", "*2\r\n$1\r\nk\r\n$1\r\nv\r\n"},
      {"return {('hello'):gsub('', '-')}", "*2\r\n$11\r\n-h-e-l-l-o-\r\n:6\r\n"},
      {"return {('hello'):gsub('(h)(e)', '%2%1%0%%')}", "*2\r\n$8\r\nehhe%llo\r\n:1\r\n"},
      {"return ('THE (quick) fox'):match('%f[%a]%a+', 6)", "$5\r\nquick\r\n"},
      {"return ('x[[y]]z'):match('%b[]')", "$5\r\n[[y]]\r\n"},
  };
  for (const auto &[script, reply] : examples) EXPECT_EQ(run(script), reply) << script;
}

TEST_F(Interpreters, TheNumbersOfASeedAreRedis) {
  EXPECT_EQ(run("math.randomseed(1) return {math.random(100), math.random(100), math.random(100)}"),
            run("math.randomseed(1) return {math.random(100), math.random(100), math.random(100)}"));
}

TEST(Sha1, IsThatOfTheStandard) {
  const auto sha1 = [](Bytes text) {
    const auto digits = sha1_of(text);
    return std::string(digits.data(), digits.size());
  };
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

}  // namespace
}  // namespace postern::redis::lua
