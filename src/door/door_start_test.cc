// When a door listens, and how it ends.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <string>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

TEST_F(DoorTest, RefusesClientsUntilTheServerIsReady) {
  options_.threads = 2;
  engine_.ready = false;
  open();
  EXPECT_FALSE(door_->listening());
  EXPECT_FALSE(connect().connected());
  engine_.ready = true;
  ASSERT_TRUE(eventually([&] { return door_->listening(); }));
  EXPECT_EQ(connect().ask("say x\n", 2), "x\n");
  door_->stop();
  EXPECT_FALSE(door_->listening());
}

TEST_F(DoorTest, ListensAtOnceIfTheServerIsReady) {
  open();
  EXPECT_TRUE(door_->listening());
}

TEST_F(DoorTest, StopsWhileTheServerIsNotReady) {
  engine_.ready = false;
  open();
  EXPECT_LT(stop_ms(), soon_ms);
  EXPECT_FALSE(door_->listening());
}

TEST_F(DoorTest, StopsWithClientsInTheMiddleOfRequests) {
  options_.threads = 2;
  open();
  Client fresh = connect();
  Client partial = connect();
  partial.send("say unfin");
  Client served = connect();
  ASSERT_EQ(served.ask("say x\n", 2), "x\n");
  EXPECT_LT(stop_ms(), soon_ms);
  EXPECT_TRUE(fresh.closed());
  EXPECT_TRUE(partial.closed());
  EXPECT_TRUE(served.closed());
  EXPECT_EQ(engine_.attached, 0);
  EXPECT_EQ(door_->connections(), 0u);
  door_->stop();  // again
}

TEST_F(DoorTest, ServerThatStopsClosesEverythingAndRefusesTheNext) {
  options_.threads = 2;
  open();
  Client client = connect();
  ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  engine_.stop();
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(eventually([&] { return engine_.attached == 0; }));
  EXPECT_TRUE(eventually([&] {
    Client late = connect();
    return !late.connected();
  }));
  EXPECT_LT(stop_ms(), soon_ms);
}

TEST_F(DoorTest, StartReportsATakenPort) {
  options_.any_port = true;
  open();
  Options same = options_;
  same.port = door_->port();
  same.any_port = false;
  same.unix_path.clear();
  Door second(same, protocol_, engine_, Access::read);
  std::string error;
  EXPECT_FALSE(second.start(error));
  EXPECT_NE(error.find("127.0.0.1:" + std::to_string(door_->port())), std::string::npos) << error;
  EXPECT_NE(error.find("in use"), std::string::npos) << error;
  Client client(door_->port());
  EXPECT_EQ(client.ask("say x\n", 2), "x\n");
}

TEST_F(DoorTest, UnixSocketHasItsModeAndGoesWithTheDoor) {
  options_.unix_mode = 0600;
  open();
  struct stat status;
  ASSERT_EQ(::stat(options_.unix_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  door_->stop();
  EXPECT_NE(::stat(options_.unix_path.c_str(), &status), 0);
}

}  // namespace
}  // namespace postern::door
