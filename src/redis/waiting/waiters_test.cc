// Wakes of waiters when memory runs out.
#include "redis/waiting/waiters.h"

#include <gtest/gtest.h>

#include <string>

#include "support/unit/allocations.h"

namespace postern::redis {
namespace {

class CountingWaker final : public Waker {
 public:
  void wake() noexcept override { ++wakes; }
  void call() noexcept override {}

  int wakes = 0;
};

// A session tells of its pushes when it ends, in its destructor.
TEST(WaitersTest, TellingWithoutMemoryDoesNotThrow) {
  Waiters waiters;
  CountingWaker waker;
  Waiting waiting(waiters, waker, 1);
  const std::string key(100, 'k');
  const Bytes keys[] = {key};
  waiting.join(0, Type::list, keys);
  FedKeys fed;
  fed.note(0, key);
  fail_allocation(1);
  waiters.tell(fed, {});
  EXPECT_FALSE(failure_is_ahead());
  fail_allocation(0);
  EXPECT_EQ(waker.wakes, 0) << "it will look for elements itself";
  waiters.tell(fed, {});
  EXPECT_EQ(waker.wakes, 1);
}

}  // namespace
}  // namespace postern::redis
