#include <gtest/gtest.h>

#include <cstring>

#include "sqldoor/parameters.h"
#include "sqldoor/protocol.h"
#include "sqldoor/testing/acted_server.h"

namespace postern::sqldoor {
namespace {

std::string packet(Bytes body) {
  std::string bytes{static_cast<char>(body.size()), static_cast<char>(body.size() >> 8),
                    static_cast<char>(body.size() >> 16), '\0'};
  return bytes.append(body);
}

std::string execution(uint32_t id, Bytes types, Bytes values, bool with_types = true) {
  std::string body("\x17", 1);
  body.append({static_cast<char>(id), '\0', '\0', '\0', '\0', '\1', '\0', '\0', '\0'});
  body.append(1, '\0').append(1, with_types ? '\1' : '\0');
  if (with_types) body.append(types);
  return packet(body.append(values));
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : session_(protocol_.open_session(output_, peer_)) {
    session_->open();
    collect();
    server().is_alive = true;
    settle();
  }

  testing::ActedSession &server() { return *engine_.session; }
  void receive(Bytes bytes) {
    const std::span<char> room = input_.room(bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    input_.received(bytes.size());
  }
  Collected collect() {
    batch_.clear();
    batch_.begin(0);
    return session_->collect(input_, batch_, 256);
  }
  void settle() {
    session_->settled();
    input_.settle();
    server().last = {};
  }
  const Statement &statement(size_t at = 0) { return *batch_.ops()[at].statement; }
  /// The server has answered the collected statement, and this is learnt from it.
  void learn(Learnt learnt) {
    server().last = std::move(learnt);
    settle();
  }

  testing::ActedEngine engine_;
  MySql protocol_{engine_};
  Output output_;
  Peer peer_;
  Input input_;
  Batch batch_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, LetsTheServerGreetFirst) {
  const std::unique_ptr<Session> fresh = protocol_.open_session(output_, peer_);
  batch_.clear();
  EXPECT_EQ(fresh->collect(input_, batch_, 10), Collected::wait);
  ASSERT_EQ(batch_.size(), 1u);
  EXPECT_EQ(statement().packet, "");
  EXPECT_EQ(fresh->collect(input_, batch_, 10), Collected::close) << "the server has refused it";
}

TEST_F(SessionTest, ClosesWhenItsClientLeavesAndTheServerHasNothingToDoForThat) {
  const std::string quit = packet("\x01");
  receive(quit);
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(server().left_with, quit.size());
  ASSERT_EQ(batch_.size(), 1u) << "the server is to serve it";
  settle();
  server().leaves = true;
  receive(quit);
  EXPECT_EQ(collect(), Collected::close);
  EXPECT_EQ(batch_.size(), 0u);
}

TEST_F(SessionTest, LeavesOnlyWhenEarlierCommandsAreAnswered) {
  const std::string text = packet("\x03SELECT v FROM t WHERE id = 1");
  receive(text);
  collect();
  learn({.plan = std::make_shared<testing::ActedPlan>(1), .final = true});
  server().leaves = true;
  receive(text + packet("\x01"));
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(batch_.size(), 2u);
  EXPECT_EQ(server().left_with, 0u);
}

TEST_F(SessionTest, CutsOneCommandAtATimeWhereverItsBytesAreCut) {
  const std::string both = packet("\x0e") + packet("\x03SELECT 1");
  for (size_t cut = 0; cut < 5; ++cut) {
    receive(Bytes(both).substr(0, cut));
    EXPECT_EQ(collect(), Collected::need_more);
    receive(Bytes(both).substr(cut));
    EXPECT_EQ(collect(), Collected::wait);
    EXPECT_EQ(statement().packet, packet("\x0e"));
    settle();
    EXPECT_EQ(collect(), Collected::wait);
    EXPECT_EQ(statement().packet, packet("\x03SELECT 1"));
    settle();
  }
}

TEST_F(SessionTest, GivesTheServerTheBeginningOfALargePacket) {
  const std::string begun("\xff\xff\xff\0\x03SELECT", 11);
  receive(begun);
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(statement().packet, begun);
}

TEST_F(SessionTest, LeavesCompressedFramesAlone) {
  server().compresses = true;
  const std::string frame("\5\0\0\0\0\0\0\1\0\0\0\x0e", 12);
  receive(frame);
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(statement().packet, frame);
}

TEST_F(SessionTest, FindsThePlanOfATextThatWasLearnt) {
  receive(packet("\x03SELECT v FROM t WHERE id = 1"));
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(statement().plan, nullptr);
  EXPECT_NE(statement().form, "");
  const auto plan = std::make_shared<testing::ActedPlan>(1);
  learn({.plan = plan, .final = true});
  receive(packet("\x03SELECT v FROM t WHERE id = 2") + packet("\x03SELECT v FROM t WHERE id = 3"));
  EXPECT_EQ(collect(), Collected::need_more);
  ASSERT_EQ(batch_.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(statement(i).plan, plan.get());
    ASSERT_EQ(statement(i).values.size(), 1u);
    EXPECT_EQ(statement(i).values[0].integer(), static_cast<int64_t>(2 + i));
  }
}

TEST_F(SessionTest, ExecutesByAPlan) {
  receive(packet("\x16SELECT v FROM t WHERE id = ?"));
  EXPECT_EQ(collect(), Collected::wait);
  const auto plan = std::make_shared<testing::ActedPlan>(1);
  learn({.plan = plan, .statement_id = 7});
  const Bytes types("\x08\0", 2);
  const Bytes five("\5\0\0\0\0\0\0\0", 8);
  for (const bool with_types : {true, false}) {
    receive(execution(7, types, five, with_types));
    EXPECT_EQ(collect(), Collected::need_more);
    ASSERT_EQ(statement().values.size(), 1u);
    EXPECT_EQ(statement().values[0].integer(), 5);
    settle();
  }
  receive(execution(7, Bytes("\x05\0", 2), five));
  EXPECT_EQ(collect(), Collected::need_more) << "a DOUBLE";
  EXPECT_TRUE(statement().values.empty());
  settle();
  receive(packet(Bytes("\x18\x07\0\0\0\0\0x", 8)));
  EXPECT_EQ(collect(), Collected::wait);
  settle();
  receive(execution(7, types, five));
  EXPECT_EQ(collect(), Collected::wait) << "long data";
  EXPECT_EQ(statement().plan, nullptr);
  settle();
  receive(packet(Bytes("\x19\x07\0\0\0", 5)));
  EXPECT_EQ(collect(), Collected::wait);
  settle();
  receive(execution(7, types, five));
  EXPECT_EQ(collect(), Collected::wait);
  EXPECT_EQ(statement().plan, nullptr) << "it was closed";
}

TEST(Parameters, ReadsIntegersAndTexts) {
  Arena arena;
  const Bytes types("\x01\0\x02\x80\x03\0\xfd\0\x08\x80", 10);
  const Bytes values("\xff\xff\xff\xfe\xff\xff\xff\2hi\1\0\0\0\0\0\0\x80", 18);
  const Bytes none("\0", 1);
  const auto read = read_parameters(types, none, values, 5, arena);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].integer(), -1);
  EXPECT_EQ((*read)[1].natural(), 65535u);
  EXPECT_EQ((*read)[2].integer(), -2);
  EXPECT_EQ((*read)[3].bytes(), "hi");
  EXPECT_EQ((*read)[4].natural(), 0x8000000000000001u);
  for (size_t cut = 0; cut < values.size(); ++cut)
    EXPECT_FALSE(read_parameters(types, none, values.substr(0, cut), 5, arena));
  EXPECT_FALSE(read_parameters(types, none, std::string(values) + "x", 5, arena));
  EXPECT_FALSE(read_parameters(types, {}, values, 5, arena));
}

TEST(Parameters, OfANullThereIsNoValue) {
  Arena arena;
  const auto read = read_parameters(Bytes("\x01\0\xfd\0\x01\0", 6), Bytes("\2", 1), Bytes("\7\x08", 2), 3, arena);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].integer(), 7);
  EXPECT_TRUE((*read)[1].is_null());
  EXPECT_EQ((*read)[2].integer(), 8);
}

TEST(Parameters, DecimalsAreDigitsAndNothingElse) {
  Arena arena;
  std::string bytes;
  const auto read = [&](const std::string &text, char flags = '\0') {
    const std::string type{'\xf6', flags};
    bytes = static_cast<char>(text.size()) + text;
    return read_parameters(type, Bytes("\0", 1), bytes, 1, arena);
  };
  for (const char *const text : {"0", "12", "1.50", "-0.25", "007.0", "12345678901234567890.123"}) {
    const auto values = read(text);
    ASSERT_TRUE(values) << text;
    EXPECT_EQ((*values)[0].bytes(), text);
    EXPECT_EQ((*values)[0].spelling(), Value::Spelling::decimal);
  }
  for (const char *const text :
       {"", "-", ".", "-.5", ".5", "5.", "1.2.3", "1e3", "+1", " 1", "1 ", "-0", "-0.00", "--1", "x"})
    EXPECT_FALSE(read(text)) << text;
  EXPECT_TRUE(read(std::string(67, '1')));
  EXPECT_FALSE(read(std::string(68, '1')));
  EXPECT_FALSE(read("1", '\x80'));
}

TEST(Parameters, TheSignOfZeroIsTheServers) {
  Arena arena;
  const Bytes type("\x05\0", 2);
  const Bytes none("\0", 1);
  EXPECT_TRUE(read_parameters(type, none, Bytes("\0\0\0\0\0\0\0\0", 8), 1, arena));
  EXPECT_FALSE(read_parameters(type, none, Bytes("\0\0\0\0\0\0\0\x80", 8), 1, arena));
}

}  // namespace
}  // namespace postern::sqldoor
