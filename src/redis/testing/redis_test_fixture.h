// redis_test_fixture.h: whole sessions over the engine in memory.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/fake/fake_engine.h"
#include "redis/protocol.h"
#include "support/unit/lone_connection.h"

namespace postern::redis {

class RedisTest : public testing::Test {
 protected:
  RedisTest() { make({}); }

  void make(Settings settings) {
    connections_.clear();
    protocol_ = std::make_unique<Redis>(std::move(settings));
    executor_ = engine_.attach({.counters = &counters_}, stop_);
  }
  test::LoneConnection &connection(int number = 0) {
    auto &connection = connections_[number];
    if (connection == nullptr) connection = std::make_unique<test::LoneConnection>(*protocol_, *executor_);
    return *connection;
  }
  std::string send(std::string_view bytes) { return connection().send(bytes); }

  FakeEngine engine_;
  Counters counters_;
  const std::atomic<bool> stop_{false};
  std::unique_ptr<Redis> protocol_;
  std::unique_ptr<Executor> executor_;
  std::map<int, std::unique_ptr<test::LoneConnection>> connections_;
};

}  // namespace postern::redis
