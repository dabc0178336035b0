// If the kernel has no room for another watch of a poller, clients wait a little, and not for ever.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "door/testing/toy.h"

namespace {

/// The number of next watches of listening sockets that the kernel refuses.
std::atomic<int> refusals{0};

}  // namespace

/// Replaces the C library's.
extern "C" int epoll_ctl(int poller, int operation, int fd, epoll_event *event) noexcept {
  if (operation == EPOLL_CTL_ADD && (event->events & EPOLLEXCLUSIVE) != 0 && refusals.load() > 0) {
    refusals.fetch_sub(1);
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_epoll_ctl, poller, operation, fd, event));
}

namespace postern::door {
namespace {

class WatchRefusedTest : public DoorTest {
 protected:
  WatchRefusedTest() { options_.threads = 2; }
  ~WatchRefusedTest() override { refusals = 0; }

  /// Each client is given to the worker with fewer clients, so workers begin to watch again.
  void expect_clients_are_served() {
    std::vector<Client> clients;
    for (int i = 0; i < 10; ++i) {
      clients.push_back(connect());
      ASSERT_EQ(clients.back().ask("say x\n", 2), "x\n") << i;
    }
  }
};

TEST_F(WatchRefusedTest, AWorkerThatGivesItsClientAwayTriesAgain) {
  open();
  refusals = 2;
  expect_clients_are_served();
  EXPECT_LT(refusals, 2);
}

TEST_F(WatchRefusedTest, TheKeeperTriesUntilAllWorkersWatch) {
  open();
  refusals = 9;
  expect_clients_are_served();
  EXPECT_TRUE(eventually([] { return refusals == 0; }));
}

TEST_F(WatchRefusedTest, ADoorOpensThoughNoWorkerMayWatchYet) {
  engine_.ready = false;
  open();
  refusals = 5;
  engine_.ready = true;
  ASSERT_TRUE(eventually([this] { return door_->listening(); }));
  expect_clients_are_served();
  EXPECT_TRUE(eventually([] { return refusals == 0; }));
}

TEST_F(WatchRefusedTest, ADoorThatIsToOpenAtOnceSaysSoInstead) {
  refusals = 1;
  door_ = std::make_unique<Door>(options_, protocol_, engine_, Access::read);
  std::string error;
  EXPECT_FALSE(door_->start(error));
  EXPECT_NE(error.find("No space left"), std::string::npos) << error;
}

}  // namespace
}  // namespace postern::door
