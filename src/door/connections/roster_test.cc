#include "door/connections/roster.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/fd.h"

namespace postern::door {
namespace {

class RosterTest : public ::testing::Test {
 protected:
  RosterTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_.reset(ends[0]);
    peer_.reset(ends[1]);
  }
  std::unique_ptr<Listed> enter(uint64_t id) {
    auto listed = std::make_unique<Listed>(*roster_);
    listed->enter(id, ours_.get(), true, false, 5'000);
    return listed;
  }

  net::Fd ours_;
  net::Fd peer_;
  Roster::Owner roster_ = Roster::make();
};

TEST_F(RosterTest, TellsByNumberWhateverPlaceARowHas) {
  std::vector<std::unique_ptr<Listed>> all;
  for (uint64_t id = 1; id <= 1'000; ++id) all.push_back(enter(id));
  for (size_t i = 0; i < all.size(); i += 3) all[i].reset();
  for (size_t i = 0; i < all.size(); i += 3) all[i] = enter(2'000 - i);
  const Listed unseen(*roster_);
  const std::vector<ConnectionNotes> told = roster_->all();
  EXPECT_EQ(told.size(), all.size());
  EXPECT_TRUE(
      std::is_sorted(told.begin(), told.end(), [](const auto &left, const auto &right) { return left.id < right.id; }));
  EXPECT_EQ(roster_->would_end(1), Ended::unknown);
  EXPECT_EQ(roster_->would_end(2), Ended::ended);
  EXPECT_EQ(roster_->would_end(2'000), Ended::ended);
}

TEST_F(RosterTest, ARowBeginsAnew) {
  std::unique_ptr<Listed> one = enter(1);
  one->note_account("ann@%");
  one->note_requests(7, Verb::find);
  EXPECT_EQ(roster_->end(1), Ended::ended);
  EXPECT_TRUE(one->is_ended());
  one.reset();
  one = enter(2);
  EXPECT_FALSE(one->is_ended());
  const ConnectionNotes told = roster_->all().at(0);
  EXPECT_EQ(told.account, "");
  EXPECT_EQ(told.peer, "localhost");
  EXPECT_EQ(told.requests, 0u);
}

TEST_F(RosterTest, OutlivesItsDoorUntilTheLastRow) {
  std::unique_ptr<Listed> one = enter(1);
  std::unique_ptr<Listed> other = enter(2);
  roster_.reset();
  one.reset();
  other->note_account("ann@%", 3);
  EXPECT_EQ(other->id(), 3u);
  other.reset();
}

TEST_F(RosterTest, IsReadWhileRowsComeAndGo) {
  std::atomic<bool> done{false};
  std::vector<std::thread> owners;
  std::atomic<int> left{3};
  for (uint64_t t = 0; t < 3; ++t)
    owners.emplace_back([&, t] {
      for (uint64_t round = 0; round < 20; ++round) {
        std::vector<std::unique_ptr<Listed>> mine;
        for (uint64_t i = 0; i < 150; ++i) {
          mine.push_back(enter(1 + t * 1'000'000 + round * 1'000 + i));
          mine.back()->note_account("ann@%");
          mine.back()->note_requests(1, Verb::find);
        }
      }
      if (--left == 0) done = true;
    });
  while (!done) {
    for (const ConnectionNotes &one : roster_->all()) {
      EXPECT_EQ(one.peer, "localhost");
      EXPECT_TRUE(one.account.empty() || one.account == "ann@%") << one.account;
      EXPECT_NE(roster_->would_end(one.id), Ended::session);
    }
  }
  for (std::thread &owner : owners) owner.join();
  EXPECT_TRUE(roster_->all().empty());
}

}  // namespace
}  // namespace postern::door
