// A whole turn of a worker, from the poller to the socket, allocates no memory.
#include "turns.h"

#include <gtest/gtest.h>

#include "handlersocket/protocol.h"
#include "memcached_requests.h"
#include "support/unit/allocations.h"

namespace postern::bench {
namespace {

/// Counts on the thread that switches it on and off.
class AllocationMeter final : public Meter {
 public:
  void on() override { before_ = allocations; }
  void off() override {
    seen_ += allocations - before_;
    ++turns_;
  }
  uint64_t seen() const { return seen_; }
  uint32_t turns() const { return turns_; }

 private:
  uint64_t before_ = 0;
  uint64_t seen_ = 0;
  uint32_t turns_ = 0;
};

void expect_no_allocations(Protocol &protocol, const Turns::Plan &plan) {
  constexpr uint32_t turns = 100;
  AllocationMeter meter;
  Turns worker(protocol, plan, meter);
  EXPECT_TRUE(worker.run(turns)) << plan.requests;
  EXPECT_EQ(meter.turns(), turns);
  EXPECT_EQ(meter.seen(), 0U) << plan.requests;
}

void expect_no_allocations(Access access, size_t connections, const std::string &request, size_t requests) {
  handlersocket::HandlerSocket protocol({.access = access});
  expect_no_allocations(protocol, {.access = access,
                                   .connections = connections,
                                   .opening = "P\t1\ttest\tuser\tPRIMARY\tuser_name,user_email,created\n",
                                   .requests = repeated(request, requests),
                                   .count = requests});
}

/// `ops`: the number of ops in the requests.
void expect_no_allocations_of_memcached(const std::string &requests, size_t ops) {
  memcached::Memcached protocol({});
  map_users(protocol);
  expect_no_allocations(protocol, {.access = Access::write,
                                   .connections = 3,
                                   .opening = requests,
                                   .requests = requests,
                                   .count = ops,
                                   .row = user_row()});
}

TEST(WorkerTurn, OfFindsAllocatesNothing) {
  const std::string find = "1\t=\t1\t4711\t1\t0\n";
  expect_no_allocations(Access::read, 1, find, 1);
  expect_no_allocations(Access::read, 1, find, 100);
  expect_no_allocations(Access::read, 50, find, 1);
  expect_no_allocations(Access::read, 10, find, 100);
  expect_no_allocations(Access::read, 3, "1\t=\t1\t\t5\t0\t@\t0\t3\t1\t2\t3\n", 20);
  expect_no_allocations(Access::read, 1, "nonsense\n", 20);
}

TEST(WorkerTurn, OfWritesAllocatesNothing) {
  expect_no_allocations(Access::write, 1, "1\t+\t3\tYukari Takeba\tan address\x01@\t\n", 1);
  expect_no_allocations(Access::write, 20, "1\t+\t3\tYukari Takeba\tan address\x01@\t\n", 16);
  expect_no_allocations(Access::write, 20, "1\t=\t1\t4711\t1\t0\tU\tYukari Takeba\tan address\t\n", 16);
  expect_no_allocations(Access::write, 20, "1\t=\t1\t4711\t1\t0\tD\n", 16);
  expect_no_allocations(Access::write, 20, "1\t=\t1\t4711\t1\t0\t+?\t1\n", 16);
}

TEST(WorkerTurn, OfMemcachedAllocatesNothing) {
  expect_no_allocations_of_memcached(repeated(text_get(1), 16), 16);
  expect_no_allocations_of_memcached(text_get(50), 50);
  expect_no_allocations_of_memcached(repeated(binary_get(), 16), 16);
  expect_no_allocations_of_memcached(repeated(text_set, 16), 16);
}

}  // namespace
}  // namespace postern::bench
