// Which container a command addresses, and how that follows changes of innodb_memcache's tables.
#include <gtest/gtest.h>

#include <string>

#include "base/log.h"
#include "memcached/testing/memcached_test_fixture.h"

namespace postern::memcached {
namespace {

using Type = FakeEngine::Type;
using Cell = FakeEngine::Cell;
using McMapping = MemcachedTest;

TEST_F(McMapping, WithoutTheTablesEveryCommandIsAnsweredWithAnAdvice) {
  const std::string told = send("get a\r\nset a 0 0 1\r\n1\r\nversion\r\n");
  EXPECT_NE(told.find("SERVER_ERROR There is no table innodb_memcache.containers"), std::string::npos) << told;
  EXPECT_NE(told.find("innodb_memcache.sql"), std::string::npos);
  EXPECT_NE(told.find("VERSION "), std::string::npos);
}

std::vector<std::string> logged;

TEST_F(McMapping, WithoutPoliciesAndOptionsNothingFailsAndOneLineEachSaysSo) {
  logged.clear();
  log::set_sink([](log::Level, const char *line) { logged.emplace_back(line); });
  install();
  EXPECT_EQ(send("get a\r\n"), "END\r\n");
  read_mappings();
  read_mappings();
  log::set_sink(nullptr);
  EXPECT_EQ(counters_.get(Counter::requests_failed), 0U);
  EXPECT_EQ(counters_.get(Failure::no_table), 0U);
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_NE(logged[0].find("innodb_memcache.cache_policies"), std::string::npos) << logged[0];
  EXPECT_NE(logged[1].find("innodb_memcache.config_options"), std::string::npos) << logged[1];
}

TEST_F(McMapping, TheFirstByNameIsMeantUnlessOneIsNamedDefault) {
  install();
  EXPECT_EQ(send("set k 1 0 2\r\nhi\r\n"), "STORED\r\n");
  EXPECT_EQ(row("demo_test")[1], "hi");
  map({"default", "test", "plain", "id", "v", "0", "0", "0", "PRIMARY"});
  read_mappings();
  EXPECT_EQ(send("set 7 1 0 2\r\nhi\r\n"), "STORED\r\n");
  EXPECT_EQ(row("plain")[1], "hi");
}

TEST_F(McMapping, ANameSwitchesForGood) {
  install();
  engine_.insert("test", "plain", {"3", "three"});
  EXPECT_EQ(send("get @@plain\r\n"), "VALUE @@plain 0 10\r\ntest/plain\r\nEND\r\n");
  EXPECT_EQ(send("get 3\r\n"), "VALUE 3 0 5\r\nthree\r\nEND\r\n");
  EXPECT_EQ(send("get @@aaa.x\r\nget 3\r\nget @@plain.3 @@aaa.x 3\r\n"),
            "END\r\nEND\r\nVALUE @@plain.3 0 5\r\nthree\r\nEND\r\n");
  EXPECT_EQ(connection(1).send("get 3\r\n"), "END\r\n") << "another connection is not switched";
}

TEST_F(McMapping, AnUnknownNameMissesAndSwitchesNothing) {
  install();
  engine_.insert("test", "plain", {"3", "three"});
  EXPECT_EQ(send("get @@plain\r\nget @@nobody\r\nget @@nobody.3\r\nget 3\r\n"),
            "VALUE @@plain 0 10\r\ntest/plain\r\nEND\r\nEND\r\nEND\r\nVALUE 3 0 5\r\nthree\r\nEND\r\n");
  EXPECT_EQ(send("set @@nobody.3 0 0 1\r\n1\r\n"), "CLIENT_ERROR There is no container of that name\r\n");
  EXPECT_EQ(send("delete @@plain\r\n"), "CLIENT_ERROR There is no key behind the container's name\r\n");
}

TEST_F(McMapping, OneWrongRowDoesNotSpoilTheOthers) {
  install();
  map({"gone", "test", "nowhere", "id", "v", "0", "0", "0", "PRIMARY"});
  map({"half", "test", "wide", "a", "x", "0", "0", "0", "PRIMARY"});
  map({"void", "test", "plain", "id", "", "0", "0", "0", "PRIMARY"});
  const std::string told = send("get @@gone.1\r\nget @@half.1\r\nget @@void.1\r\nget @@plain.1\r\n");
  EXPECT_NE(told.find("SERVER_ERROR container 'gone' (test/nowhere): "), std::string::npos) << told;
  EXPECT_NE(told.find("SERVER_ERROR container 'half' (test/wide): The index is not a unique index"), std::string::npos);
  EXPECT_NE(told.find("SERVER_ERROR value_columns names no column"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("\r\nEND\r\n")) << told;
}

TEST_F(McMapping, ATableThatCameBackIsOpenedAgain) {
  install();
  engine_.drop("test", "plain");
  EXPECT_TRUE(send("get @@plain.1\r\n").starts_with("SERVER_ERROR "));
  engine_.create("test", "plain", {{"id", Type::integer, false}, {"v", Type::text}}, {{"PRIMARY", {"id"}}});
  EXPECT_EQ(send("get 1\r\n"), "END\r\n");
}

TEST_F(McMapping, ChangesTakeEffectOnConnectionsThatAreThere) {
  install();
  EXPECT_EQ(send("get @@plain.1\r\n"), "END\r\n");
  engine_.create("test", "other", {{"id", Type::integer, false}, {"v", Type::text}}, {{"PRIMARY", {"id"}}});
  engine_.insert("test", "other", {"1", "one"});
  engine_.drop("innodb_memcache", "containers");
  install();
  engine_.drop("innodb_memcache", "containers");
  read_mappings();
  EXPECT_EQ(send("get 1\r\n"), "SERVER_ERROR The container in use is no longer in innodb_memcache.containers\r\n");
  install();
  engine_.drop("innodb_memcache", "containers");
  make_no_containers(engine_);
  map({"plain", "test", "other", "id", "v", "0", "0", "0", "PRIMARY"});
  read_mappings();
  EXPECT_EQ(send("get @@plain.1\r\n"), "VALUE @@plain.1 0 3\r\none\r\nEND\r\n");
}

TEST_F(McMapping, ReadingTheSameAgainChangesNothing) {
  install();
  map({"B", "test", "plain", "id", "v", "0", "0", "0", "PRIMARY"});
  map({"c", "test", "plain", "id", "v", "0", "0", "0", "PRIMARY"});
  read_mappings();
  const uint64_t generation = protocol_->mappings().generation();
  read_mappings();
  EXPECT_EQ(protocol_->mappings().generation(), generation);
  EXPECT_NE(protocol_->mappings().snapshot()->find("B"), nullptr);
  EXPECT_EQ(protocol_->mappings().snapshot()->find("b"), nullptr);
}

TEST_F(McMapping, SessionsLeaveNothingOpen) {
  install();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(send("get @@plain.1 @@aaa.x @@wide.1|b\r\n"), "END\r\n");
  EXPECT_EQ(engine_.bindings(), 1u);
  connections_.clear();
  EXPECT_EQ(engine_.bindings(), 0u);
}

}  // namespace
}  // namespace postern::memcached
