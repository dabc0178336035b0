// memcached_test_fixture.h: whole sessions over the engine in memory.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/fake/fake_engine.h"
#include "memcached/protocol.h"
#include "memcached/testing/fake_tables.h"
#include "support/unit/lone_connection.h"

namespace postern::memcached {

/// An engine with the tables of innodb_memcache and some to map, and a port.
class MemcachedTest : public testing::Test {
 protected:
  MemcachedTest() { make({}); }

  void make(Settings settings) {
    connections_.clear();
    protocol_ = std::make_unique<Memcached>(std::move(settings));
    executor_ = engine_.attach({.counters = &counters_}, stop_);
  }
  void install() { make_containers(engine_); }
  void map(const std::vector<std::string> &row) { map_container(engine_, row); }
  void policies(const std::vector<std::string> &row) { make_policies(engine_, row); }
  /// What somebody's session does a second later.
  void read_mappings() {
    Batch batch;
    Refresh refresh(protocol_->mappings());
    batch.begin(0);
    refresh.add_to(batch);
    ASSERT_TRUE(executor_->run({.ops = batch.ops()}).lasted());
    refresh.publish(0);
  }

  test::LoneConnection &connection(int number = 0) {
    auto &connection = connections_[number];
    if (connection == nullptr) connection = std::make_unique<test::LoneConnection>(*protocol_, *executor_);
    return *connection;
  }
  std::string send(std::string_view bytes) { return connection().send(bytes); }
  std::vector<FakeEngine::Cell> row(Bytes table, size_t number = 0) {
    const auto rows = engine_.rows("test", table);
    return number < rows.size() ? rows[number] : std::vector<FakeEngine::Cell>{};
  }

  FakeEngine engine_;
  Counters counters_;
  const std::atomic<bool> stop_{false};
  std::unique_ptr<Memcached> protocol_;
  std::unique_ptr<Executor> executor_;
  std::map<int, std::unique_ptr<test::LoneConnection>> connections_;
};

}  // namespace postern::memcached
