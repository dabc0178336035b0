// parts_of_worker.h: PartsOfWorkerTest, the objects that a worker lends to its parts, for tests of a part alone.
// them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/counters.h"
#include "door/connections/options.h"
#include "door/lanes/statement_pool.h"
#include "door/memory_guard.h"
#include "net/poller.h"
#include "ping/ping.h"

namespace postern::door {

class PartsOfWorkerTest : public ::testing::Test {
 protected:
  Options options_;
  ping::Ping ping_{"pong"};
  StatementPool statements_{"toy sql"};
  net::Poller poller_;
  net::WakeFd doorbell_;
  Counters counters_;
  const std::string name_ = "toy worker 1";
  MemoryGuard guard_{name_, counters_};
};

}  // namespace postern::door
