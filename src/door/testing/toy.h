// toy.h: DoorTest, a door over ToyProtocol and ToyEngine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "door/door.h"
#include "door/testing/test_client.h"
#include "door/testing/toy_engine.h"
#include "door/testing/toy_protocol.h"

namespace postern::door {

/// A door on a unix socket (and on a TCP port if one is given) over the toys.
class DoorTest : public ::testing::Test {
 protected:
  DoorTest() {
    options_.name = "toy";
    options_.host = "127.0.0.1";
    static std::atomic<int> number{0};
    options_.unix_path = "/tmp/postern-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".sock";
    options_.threads = 1;
    options_.idle_timeout_ms = 0;
  }
  ~DoorTest() override { door_.reset(); }

  void open(Access access = Access::read) {
    door_ = std::make_unique<Door>(options_, protocol_, engine_, access);
    std::string error;
    ASSERT_TRUE(door_->start(error)) << error;
  }
  Client connect(int receive_buffer = 0) { return Client(options_.unix_path, receive_buffer); }
  uint64_t count(Counter counter) const {
    Counters sum;
    door_->add_counters(sum);
    return sum.get(counter);
  }
  uint64_t count(Failure failure) const {
    Counters sum;
    door_->add_counters(sum);
    return sum.get(failure);
  }
  /// Stops the door and says how long that took.
  int64_t stop_ms() {
    const int64_t begin = clock_ms();
    door_->stop();
    return clock_ms() - begin;
  }

  /// Generous for a loaded machine and sanitizers; a stop that waits for a client or a scan takes for ever.
  static constexpr int64_t soon_ms = 3'000;

  Options options_;
  ToyProtocol protocol_;
  ToyEngine engine_;
  std::unique_ptr<Door> door_;
};

}  // namespace postern::door
