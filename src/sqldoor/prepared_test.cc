// Which plan a session finds for each command, and with which values; and when it leaves the command to the server.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "contract/batch.h"
#include "sqldoor/plan_cache.h"
#include "sqldoor/protocol.h"

namespace postern::sqldoor {
namespace {

class ToyPlan final : public Plan {
 public:
  explicit ToyPlan(uint32_t values, bool writes = false) : values_(values), writes_(writes) {}
  uint32_t values() const override { return values_; }
  bool holds() const override { return holds_; }
  bool writes() const override { return writes_; }
  bool holds_ = true;

 private:
  uint32_t values_;
  bool writes_;
};

/// The answers of the server's session; the test changes them.
struct Said {
  uint64_t dialect = 1;
  std::optional<TextRules> rules = TextRules{};
  Learnt learnt;
};

class ToySession final : public ServerSession {
 public:
  bool log_in(int, bool) override { return true; }
  bool serve(const Statement &) override { return true; }
  void end(bool) override {}
  bool alive() const override { return true; }
  bool compressed() const override { return false; }
  int fd() const override { return -1; }
  void *tls() const override { return nullptr; }
  int64_t idle_limit_ms() const override { return 0; }
  void time_out() override {}
  void interrupt() override {}
  explicit ToySession(const Said &said) : said_(said) {}
  uint64_t dialect() const override { return said_.dialect; }
  std::optional<TextRules> text_rules() const override { return said_.rules; }
  const Learnt &learnt() const override { return said_.learnt; }

 private:
  const Said &said_;
};

class ToyEngine final : public Engine {
 public:
  bool up() const override { return true; }
  std::unique_ptr<Executor> attach(const ThreadIdentity &, const std::atomic<bool> &) override { return nullptr; }
  std::unique_ptr<ServerSession> host() override { return std::make_unique<ToySession>(said); }
  Said said;
};

std::string packet(char command, const std::string &arguments) {
  std::string packet(1, command);
  packet += arguments;
  const size_t size = packet.size();
  return std::string{static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16), '\0'} +
         packet;
}

template <class Number>
std::string bytes(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string execution(uint32_t id, const std::string &types, const std::string &values, char cursor = '\0') {
  return packet('\x17',
                bytes(id) + cursor + bytes(uint32_t{1}) + '\0' + (types.empty() ? '\0' : '\1') + types + values);
}

const std::string longlong("\x08\x00", 2);
const std::string text_type("\xfd\x00", 2);
const std::string double_type("\x05\x00", 2);

class MySqlSessionTest : public testing::Test {
 protected:
  MySqlSessionTest() : session_(protocol_.open_session(output_, peer_)) {}

  /// The command's statement, after the previous one was answered.
  const Statement &find(const std::string &bytes) {
    if (batch_.size() > 0) {
      session_->settled();
      batch_.clear();
      input_.settle();
    }
    const std::span<char> room = input_.room(bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    input_.received(bytes.size());
    session_->collect(input_, batch_, 5);
    statement_ = batch_.size() == 1 ? *batch_.ops()[0].statement : Statement{};
    return statement_;
  }
  bool fast(const std::string &bytes) {
    find(bytes);
    return statement_.plan != nullptr && statement_.values.size() == statement_.plan->values();
  }
  void learn(std::shared_ptr<const Plan> plan, bool final = true, uint32_t id = 0) {
    engine_.said.learnt = {std::move(plan), id, final};
  }
  void prepare(uint32_t id, std::shared_ptr<const Plan> plan) {
    find(packet('\x16', "SELECT a FROM t WHERE id = ? /* " + std::to_string(id) + " */"));
    learn(std::move(plan), false, id);
  }

  ToyEngine engine_;
  MySql protocol_{engine_};
  Output output_;
  Peer peer_;
  Input input_;
  Batch batch_;
  Statement statement_;
  std::unique_ptr<Session> session_;
};

TEST_F(MySqlSessionTest, ATextIsLearntOnce) {
  EXPECT_EQ(find(packet(3, "SELECT a FROM t WHERE id = 1")).form, "SELECT a FROM t WHERE id = ?");
  EXPECT_EQ(statement_.plan, nullptr);
  const auto plan = std::make_shared<ToyPlan>(1);
  learn(plan);
  find(packet(3, "SELECT a FROM t WHERE id = 77"));
  EXPECT_EQ(statement_.plan, plan.get());
  ASSERT_EQ(statement_.values.size(), 1u);
  EXPECT_EQ(statement_.values[0].integer(), 77);
  EXPECT_TRUE(statement_.form.empty());
}

TEST_F(MySqlSessionTest, AResultThatIsNotFinalIsLearntAgain) {
  find(packet(3, "SELECT a FROM t WHERE id = 1"));
  learn(nullptr, false);
  EXPECT_FALSE(find(packet(3, "SELECT a FROM t WHERE id = 1")).form.empty());
  learn(nullptr, true);
  EXPECT_TRUE(find(packet(3, "SELECT a FROM t WHERE id = 1")).form.empty());
  EXPECT_EQ(statement_.plan, nullptr);
}

TEST_F(MySqlSessionTest, AnotherDialectIsAnotherPlan) {
  find(packet(3, "SELECT a FROM t WHERE id = 1"));
  learn(std::make_shared<ToyPlan>(1));
  ASSERT_TRUE(fast(packet(3, "SELECT a FROM t WHERE id = 1")));
  engine_.said.dialect = 2;
  EXPECT_FALSE(fast(packet(3, "SELECT a FROM t WHERE id = 1")));
  engine_.said.rules = std::nullopt;
  EXPECT_TRUE(find(packet(3, "SELECT a FROM t WHERE id = 1")).form.empty());
}

TEST_F(MySqlSessionTest, TypesAreRemembered) {
  prepare(5, std::make_shared<ToyPlan>(1));
  EXPECT_TRUE(fast(execution(5, longlong, bytes(int64_t{43}))));
  engine_.said.learnt = {};  // a worker has answered it
  EXPECT_EQ(statement_.values[0].integer(), 43);
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{44}))));
  EXPECT_EQ(statement_.values[0].integer(), 44);
  EXPECT_TRUE(fast(execution(5, text_type,
                             "\x02"
                             "45")));
  EXPECT_EQ(statement_.values[0].bytes(), "45");
  EXPECT_TRUE(fast(execution(5, "",
                             "\x02"
                             "46")));
  EXPECT_EQ(statement_.values[0].bytes(), "46");
}

TEST_F(MySqlSessionTest, BoundTypesStayBoundInTheirDialect) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{43})));
  engine_.said.learnt = {nullptr, 5, false};  // the server has run it
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{44}))));
  engine_.said.dialect = 2;
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{44}))));
  EXPECT_FALSE(fast(execution(5, longlong, bytes(int64_t{44}))));
  engine_.said.dialect = 1;
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{44})))) << "bound in the other dialect";
  EXPECT_TRUE(fast(execution(5, longlong, bytes(int64_t{44}))));
}

TEST_F(MySqlSessionTest, WithoutTypesAtFirstItIsTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{42}))));
}

TEST_F(MySqlSessionTest, ATextThatWasPreparedBeforeHasItsPlan) {
  const std::string text = packet('\x16', "SELECT a FROM t WHERE id = ?");
  EXPECT_EQ(find(text).form, "SELECT a FROM t WHERE id = ?");
  const auto plan = std::make_shared<ToyPlan>(1);
  learn(plan, false, 5);
  find(text);
  EXPECT_EQ(statement_.plan, plan.get());
  EXPECT_TRUE(statement_.form.empty());
  learn(nullptr, false, 6);  // it has its id, whoever assigned it
  EXPECT_TRUE(fast(execution(6, longlong, bytes(int64_t{43}))));
  EXPECT_EQ(statement_.plan, plan.get());
  EXPECT_TRUE(fast(execution(5, longlong, bytes(int64_t{43}))));
}

TEST_F(MySqlSessionTest, APreparedTextWithoutAPlanIsLearntOnceInAWhile) {
  const std::string text = "SELECT a.b FROM t a JOIN t b ON b.id = a.b";
  EXPECT_EQ(find(packet('\x16', text)).form, text);
  EXPECT_FALSE(statement_.has_no_plan);
  engine_.said.learnt = {.statement_id = 1, .final = true, .of_session = true};
  for (uint32_t id = 2; id != 2 + PlanCache::refusals_of_sessions_believed; ++id) {
    EXPECT_TRUE(find(packet('\x16', text)).form.empty()) << id;
    EXPECT_TRUE(statement_.has_no_plan) << id;
    engine_.said.learnt = {.statement_id = id};
    find(packet('\x17', bytes(id) + '\0' + bytes(uint32_t{1})));
  }
  EXPECT_EQ(find(packet('\x16', text)).form, text);
  EXPECT_FALSE(statement_.has_no_plan);
}

TEST_F(MySqlSessionTest, APreparedTextIsNotTheSameAsItsForm) {
  find(packet(3, "SELECT a FROM t WHERE id = 1"));
  learn(std::make_shared<ToyPlan>(1));
  EXPECT_FALSE(find(packet('\x16', "SELECT a FROM t WHERE id = ?")).form.empty());
  learn(std::make_shared<ToyPlan>(1), false, 5);
  engine_.said.dialect = 2;
  EXPECT_FALSE(find(packet('\x16', "SELECT a FROM t WHERE id = ?")).form.empty());
}

TEST_F(MySqlSessionTest, WhatNeverHasAPlanIsNotLookedFor) {
  EXPECT_TRUE(find(packet('\x16', "CALL p(?)")).form.empty());
  EXPECT_TRUE(find(packet('\x16', "SET a = ?")).form.empty());
  EXPECT_FALSE(find(packet('\x16', "update t SET a = ?")).form.empty());
  EXPECT_FALSE(find(packet('\x16', "REPLACE t SET a = ?")).form.empty());
}

TEST_F(MySqlSessionTest, WhatWritesHasItsPlanFromTheFirstExecution) {
  prepare(5, std::make_shared<ToyPlan>(1, true));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{42})))) << "nobody knows what that is";
  EXPECT_TRUE(fast(execution(5, longlong, bytes(int64_t{43}))));
  EXPECT_EQ(statement_.values[0].integer(), 43);
  engine_.said.learnt = {};  // a worker has answered it
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{44}))));
  EXPECT_TRUE(fast(execution(5, text_type,
                             "\x01"
                             "4")));
}

TEST_F(MySqlSessionTest, TypesAreNotedWhileThereIsNoPlan) {
  const auto plan = std::make_shared<ToyPlan>(1);
  prepare(5, plan);
  ASSERT_TRUE(fast(execution(5, longlong, bytes(int64_t{43}))));
  engine_.said.learnt = {};  // a worker has answered it
  plan->holds_ = false;
  find(execution(5, "", bytes(int64_t{44})));
  EXPECT_EQ(statement_.plan, nullptr);
  find(execution(5, text_type,
                 "\x01"
                 "4"));
  learn(std::make_shared<ToyPlan>(1), true, 5);
  ASSERT_TRUE(fast(execution(5, "",
                             "\x01"
                             "5")));
  EXPECT_EQ(statement_.values[0].bytes(), "5");
}

TEST_F(MySqlSessionTest, NothingIsShownAfterAWrite) {
  find(packet(3, "DELETE FROM t WHERE id = 1"));
  learn(std::make_shared<ToyPlan>(1, true));
  const std::string writes = packet(3, "DELETE FROM t WHERE id = 2");
  find(writes + writes);
  EXPECT_EQ(batch_.size(), 1u);
  EXPECT_EQ(statement_.values[0].integer(), 2);
}

TEST_F(MySqlSessionTest, ANullIsStoredAndFindsNothing) {
  const auto null_for = [](uint32_t id) {
    return packet('\x17', bytes(id) + '\0' + bytes(uint32_t{1}) + "\1\1" + longlong);
  };
  prepare(5, std::make_shared<ToyPlan>(1));
  EXPECT_FALSE(fast(null_for(5)));
  EXPECT_EQ(statement_.plan, nullptr);
  prepare(6, std::make_shared<ToyPlan>(1, true));
  EXPECT_TRUE(fast(null_for(6)));
  EXPECT_TRUE(statement_.values[0].is_null());
}

TEST_F(MySqlSessionTest, ANullOfATypeThatTheServerMayRefuseIsTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1, true));
  const auto null_of = [](const char *type) {
    return packet('\x17', bytes(uint32_t{5}) + '\0' + bytes(uint32_t{1}) + "\1\1" + std::string(type, 2));
  };
  for (const char *const type : {"\x06\x00", "\x0c\x00", "\xfc\x00", "\x08\x80"}) EXPECT_TRUE(fast(null_of(type)));
  for (const char *const type : {"\x9a\x00", "\x12\x00", "\x08\x40", "\x0d\x00"}) EXPECT_FALSE(fast(null_of(type)));
}

TEST_F(MySqlSessionTest, AStatementWhosePlanIsGoneGetsAnother) {
  const auto plan = std::make_shared<ToyPlan>(1);
  prepare(5, plan);
  ASSERT_TRUE(fast(execution(5, longlong, bytes(int64_t{1}))));
  plan->holds_ = false;
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}))));
  EXPECT_EQ(statement_.form, "SELECT a FROM t WHERE id = ? /* 5 */");
  const auto other = std::make_shared<ToyPlan>(1);
  learn(other);
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{1}))));
  EXPECT_EQ(statement_.plan, other.get());
}

TEST_F(MySqlSessionTest, DoublesAreIntegersOrDigitsOrTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, double_type, bytes(1.0)));
  EXPECT_TRUE(fast(execution(5, double_type, bytes(2.0))));
  EXPECT_EQ(statement_.values[0].integer(), 2);
  EXPECT_FALSE(fast(execution(5, double_type, bytes(-0.0))));
  EXPECT_TRUE(fast(execution(5, double_type, bytes(2.5))));
  EXPECT_EQ(statement_.values[0].bytes(), "2.5");
  EXPECT_EQ(statement_.values[0].spelling(), Value::Spelling::real);
  EXPECT_TRUE(fast(execution(5, double_type, bytes(-0.5))));
  EXPECT_FALSE(fast(execution(5, double_type, bytes(1e-40))));
  EXPECT_FALSE(fast(execution(5, double_type, bytes(9007199254740992.0))));
  EXPECT_FALSE(fast(execution(5, double_type, bytes(0.0 / 0.0))));
}

TEST_F(MySqlSessionTest, LongDataAndCursorsAreTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{1})));
  ASSERT_TRUE(fast(execution(5, "", bytes(int64_t{1}))));
  find(packet('\x18', bytes(uint32_t{5}) + std::string(2, '\0') + "x"));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}))));
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{1}))));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}), '\1')));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}))));  // ends the cursor
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{1}))));
}

TEST_F(MySqlSessionTest, TheServerReportsLongDataThatFailedToCome) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{1})));
  find(packet('\x18', bytes(uint32_t{0xffffffff}) + std::string(2, '\x07') + "x"));
  EXPECT_FALSE(fast(execution(5, longlong, bytes(int64_t{1}))));
  learn(nullptr, false, 0);  // it was not executed
  EXPECT_FALSE(fast(execution(5, longlong, bytes(int64_t{1}))));
  EXPECT_FALSE(fast(execution(5, longlong, bytes(int64_t{1}))));
  find(packet('\x1a', bytes(uint32_t{5})));
  EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}))));
  EXPECT_TRUE(fast(execution(5, longlong, bytes(int64_t{1}))));
}

TEST_F(MySqlSessionTest, OtherTypesMayHaveComeInACommandThatIsNotRead) {
  const std::string binding = execution(5, longlong, bytes(int64_t{1}));
  std::string odd = binding;
  odd[4 + 1 + 4 + 1 + 4 + 1] = '\2';  // the server treats it as true
  for (const std::string &other : {packet('\xfa', bytes(uint32_t{5}) + "\x80" + '\0' + longlong + '\0'), odd}) {
    prepare(5, std::make_shared<ToyPlan>(1));
    fast(binding);
    ASSERT_TRUE(fast(execution(5, "", bytes(int64_t{1}))));
    find(other);
    EXPECT_FALSE(fast(execution(5, "", bytes(int64_t{1}))));
    EXPECT_TRUE(fast(binding));
  }
}

TEST_F(MySqlSessionTest, TypesThatTheServerTakesForNullAreTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{1})));
  EXPECT_FALSE(fast(execution(5, std::string("\x09\x00", 2), bytes(int32_t{1}))));
  EXPECT_FALSE(fast(execution(5, std::string("\x0d\x00", 2), bytes(int16_t{1}))));
}

TEST_F(MySqlSessionTest, WithoutANumberItIsTheStatementPreparedLast) {
  prepare(5, std::make_shared<ToyPlan>(1));
  EXPECT_TRUE(fast(execution(0xffffffff, longlong, bytes(int64_t{1}))));
  EXPECT_TRUE(fast(execution(5, "", bytes(int64_t{2}))));
  EXPECT_TRUE(fast(execution(0xffffffff, text_type,
                             "\x01"
                             "2")));
  EXPECT_TRUE(fast(execution(5, "",
                             "\x01"
                             "3")));
  EXPECT_EQ(statement_.values[0].bytes(), "3");
  prepare(6, nullptr);
  EXPECT_FALSE(fast(execution(0xffffffff, longlong, bytes(int64_t{1}))));
  EXPECT_TRUE(fast(execution(5, "",
                             "\x01"
                             "4")));
}

TEST_F(MySqlSessionTest, WithoutParametersACursorIsTheServers) {
  prepare(5, std::make_shared<ToyPlan>(0));
  EXPECT_TRUE(fast(packet('\x17', bytes(uint32_t{0xffffffff}) + '\0' + bytes(uint32_t{1}))));
  EXPECT_FALSE(fast(packet('\x17', bytes(uint32_t{5}) + '\1' + bytes(uint32_t{1}))));
  EXPECT_FALSE(fast(packet('\x17', bytes(uint32_t{5}) + '\0' + bytes(uint32_t{1}))));
  EXPECT_TRUE(fast(packet('\x17', bytes(uint32_t{5}) + '\0' + bytes(uint32_t{1}))));
}

TEST_F(MySqlSessionTest, StatementsEnd) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{1})));
  find(packet('\x19', bytes(uint32_t{5})));
  EXPECT_FALSE(fast(execution(5, longlong, bytes(int64_t{1}))));
  prepare(6, std::make_shared<ToyPlan>(1));
  fast(execution(6, longlong, bytes(int64_t{1})));
  ASSERT_TRUE(fast(execution(6, longlong, bytes(int64_t{1}))));
  find(packet('\x1f', ""));
  EXPECT_FALSE(fast(execution(6, longlong, bytes(int64_t{1}))));
}

TEST_F(MySqlSessionTest, TruncatedCommandsAreTheServers) {
  prepare(5, std::make_shared<ToyPlan>(1));
  fast(execution(5, longlong, bytes(int64_t{1})));
  const std::string whole = execution(5, longlong, bytes(int64_t{1}));
  ASSERT_TRUE(fast(whole));
  for (size_t size = 0; size < whole.size() - 5; ++size)
    EXPECT_FALSE(fast(packet('\x17', whole.substr(5, size)))) << size;
  EXPECT_FALSE(fast(packet('\x17', whole.substr(5) + "x")));
}

}  // namespace
}  // namespace postern::sqldoor
