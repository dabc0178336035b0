#include "door/connections/thread.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace postern::door {
namespace {

/// The stack size of a new thread.
size_t stack_bytes() {
  size_t bytes = 0;
  Thread thread;
  EXPECT_TRUE(thread.start(
      [](void *to) {
        pthread_attr_t attributes;
        ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        pthread_attr_getstacksize(&attributes, static_cast<size_t *>(to));
        pthread_attr_destroy(&attributes);
      },
      &bytes, "measured"));
  thread.join();
  return bytes;
}

TEST(Thread, HasTheStackThatIsWantedAndNeverLess) {
  const size_t at_first = stack_bytes();
  EXPECT_GE(at_first, size_t{2} << 20);
  Thread::want_stack(2 * at_first);
  EXPECT_GE(stack_bytes(), 2 * at_first);
  Thread::want_stack(1);
  EXPECT_GE(stack_bytes(), 2 * at_first);
}

}  // namespace
}  // namespace postern::door
