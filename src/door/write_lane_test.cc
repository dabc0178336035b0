#include "door/lanes/write_lane.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "door/recent_readers.h"
#include "door/testing/toy.h"

namespace postern::door {
namespace {

/// A door whose worker has seen its commits sleep while others read, and therefore gives writes away. From then on each
/// commit waits for ToyEngine::commits.
class WriteLaneTest : public DoorTest {
 protected:
  void open_with_lane() {
    open(Access::write);
    reader_ = std::make_unique<Client>(connect());
    writer_ = std::make_unique<Client>(connect());
    engine_.commits = 1'000;
    engine_.commit_us = 2'000;
    // While a commit sleeps in the lane, the worker answers.
    ASSERT_TRUE(eventually([&] {
      writer_->send("write\n");
      reader_->ask("say a\n", 2);
      const bool ahead = engine_.written < ++writes_;
      writer_->read(5);
      return ahead && writes_ > 2 * static_cast<int>(WriteLane::runs_per_look);
    }));
    engine_.commit_us = 0;
    engine_.commits = 0;
    // From here on the lane has all writes, however long ago the machine let a client read.
    engine_.commits_wait = true;
  }
  bool committing() {
    return eventually([this] { return engine_.committing == 1; });
  }

  std::unique_ptr<Client> reader_;
  std::unique_ptr<Client> writer_;
  int writes_ = 0;
};

TEST_F(WriteLaneTest, ReadersAreAnsweredWhileACommitSleeps) {
  open_with_lane();
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(reader_->ask("rows 1 10\n", 14), rows_text(1, 10));
  EXPECT_EQ(engine_.committing, 1);
  engine_.commits = 1;
  EXPECT_EQ(writer_->read(5), "done\n");
}

/// No commit has slept so far, and no client has read.
TEST_F(WriteLaneTest, WhereACommitMayWaitNoWorkerEverCommits) {
  engine_.commits_wait = true;
  options_.threads = 2;
  open(Access::write);
  std::vector<Client> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(connect());
  for (Client &writer : writers) writer.send("write\n");
  // One commit, or two if the second committer found the first one asleep.
  ASSERT_TRUE(eventually([this] { return engine_.committing != 0; }));
  for (int i = 0; i < 4; ++i) {
    Client fresh = connect();
    EXPECT_EQ(fresh.ask("rows 1 10\n", 14), rows_text(1, 10));
  }
  EXPECT_EQ(engine_.written, 0);
  engine_.commits = 4;
  for (Client &writer : writers) EXPECT_EQ(writer.read(5), "done\n");
}

/// In a running server the door listens before its threads have started.
TEST_F(WriteLaneTest, AWriteWaitsForTheFirstCommitter) {
  engine_.commits_wait = true;
  engine_.lane_ready = false;
  open(Access::write);
  Client early = connect();
  early.send("write\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connect().ask("say here\n", 5), "here\n");
  engine_.commits = 1;
  engine_.lane_ready = true;
  EXPECT_EQ(early.read(5), "done\n");
}

TEST_F(WriteLaneTest, AWriteIsRefusedWhereNoCommitterCanCome) {
  engine_.commits_wait = true;
  engine_.lane_ready = false;
  engine_.lane_fails = true;
  open(Access::write);
  Client early = connect();
  early.send("write\n");
  EXPECT_EQ(connect().ask("say here\n", 5), "here\n");
  engine_.lane_ready = true;
  EXPECT_TRUE(early.closed());
  Client late = connect();
  late.send("write\n");
  EXPECT_TRUE(late.closed());
}

TEST_F(WriteLaneTest, FindsOfTheSlowLaneWaitForNoCommitOfIt) {
  engine_.commits_wait = true;
  options_.scan_threads = 2;
  open(Access::write);
  std::vector<Client> writers;
  for (int i = 0; i < 5; ++i) writers.push_back(connect());
  for (Client &writer : writers) writer.send("unit write;write\n");
  ASSERT_TRUE(eventually([this] { return engine_.committing == 2; }));
  Client reader = connect();
  const std::string found = rows_text(5'000, 10);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(reader.ask("rows 5000 10\n", found.size()), found);
  EXPECT_EQ(engine_.committing, 2);
  engine_.commits = 5;
  for (Client &writer : writers) EXPECT_EQ(writer.read(10), "done\ndone\n");
}

TEST_F(WriteLaneTest, WhereNoCommitWaitsALoneWriterStaysWithItsWorker) {
  options_.threads = 1;
  open(Access::write);
  Client writer = connect();
  Client other = connect();
  writer.send("write\n");
  ASSERT_TRUE(committing());
  other.send("say here\n");
  EXPECT_EQ(other.read(5, 20), "");
  engine_.commits = 1;
  EXPECT_EQ(writer.read(5), "done\n");
  EXPECT_EQ(other.read(5), "here\n");
}

TEST_F(WriteLaneTest, TheOrderOfAConnectionIsKept) {
  open_with_lane();
  writer_->send("say 1\nwrite\nsay 2\n");
  ASSERT_TRUE(committing());
  writer_->send("say 3\nwrite\nsay 4\n");
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  EXPECT_EQ(engine_.committing, 1);
  engine_.commits = 2;
  EXPECT_EQ(writer_->read(18), "1\ndone\n2\n3\ndone\n4\n");
}

TEST_F(WriteLaneTest, WhatComesMeanwhileSharesTheNextCommit) {
  options_.committers = 1;
  open_with_lane();
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect());
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  const int before = engine_.written;
  for (Client &client : clients) {
    client.send("write\nrows 1 10\n");
    EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  }
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n") << "the turn of the last writer is over";
  engine_.commits = 1;
  EXPECT_EQ(writer_->read(5), "done\n");
  ASSERT_TRUE(committing());
  EXPECT_EQ(engine_.written, before + 1);
  engine_.commits = 1;
  for (Client &client : clients) EXPECT_EQ(client.read(19), "done\n" + rows_text(1, 10));
  EXPECT_EQ(engine_.commits, 0) << "one commit for all";
}

TEST_F(WriteLaneTest, ACommitNeedNotWaitForOneThatSleepsLong) {
  open_with_lane();
  Client other = connect();
  Client third = connect();
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  other.send("write\n");
  ASSERT_TRUE(eventually([this] { return engine_.committing == 2; }));
  third.send("write\n");
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  EXPECT_EQ(engine_.committing, 2) << "there are two committers";
  engine_.commits = 3;
  EXPECT_EQ(writer_->read(5), "done\n");
  EXPECT_EQ(other.read(5), "done\n");
  EXPECT_EQ(third.read(5), "done\n");
}

TEST_F(WriteLaneTest, CommitsWaitForEachOtherAfterOneThatHadToLeaveRows) {
  open_with_lane();
  engine_.commit_us = 2'000;
  Client other = connect();
  const auto both_commit = [&](int at_once) {
    writer_->send("write\n");
    ASSERT_TRUE(committing());
    other.send("write\n");
    ASSERT_TRUE(at_once == 1 || eventually([this] { return engine_.committing == 2; }));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
    EXPECT_EQ(engine_.committing, at_once);
    engine_.commits = 2;
    EXPECT_EQ(writer_->read(5), "done\n");
    EXPECT_EQ(other.read(5), "done\n");
  };
  both_commit(2);
  engine_.leaves_rows = true;
  both_commit(2);
  engine_.leaves_rows = false;
  for (uint32_t run = 0; run < WriteLane::runs_apart; run += 2) both_commit(1);
  both_commit(2);
}

TEST_F(WriteLaneTest, WorkersShareCommits) {
  options_.committers = 1;
  options_.threads = 2;
  open_with_lane();
  std::vector<Client> readers;
  std::vector<Client> writers;
  for (int i = 0; i < 4; ++i) readers.push_back(connect()), writers.push_back(connect());
  const auto all_read = [&] {
    for (Client &reader : readers) EXPECT_EQ(reader.ask("say here\n", 5), "here\n");
  };
  all_read();
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  for (Client &writer : writers) {
    all_read();
    writer.send("write\n");
  }
  for (int i = 0; i < 2; ++i) all_read();  // then the turn of the last writer is over
  EXPECT_EQ(engine_.committing, 1) << "no worker waits by itself";
  engine_.commits = 2;
  EXPECT_EQ(writer_->read(5), "done\n");
  for (Client &writer : writers) EXPECT_EQ(writer.read(5), "done\n");
  EXPECT_EQ(engine_.commits, 0);
}

TEST_F(WriteLaneTest, OpsLeftThereGoToTheSlowLane) {
  open_with_lane();
  engine_.lone_busy = true;
  writer_->send("write\nlone\nsay 2\n");
  ASSERT_TRUE(committing());
  engine_.commits = 1;
  EXPECT_EQ(writer_->read(5), "done\n");
  ASSERT_TRUE(eventually([&] { return engine_.lone_left != 0; }));
  engine_.lone_busy = false;
  EXPECT_EQ(writer_->read(7), "free\n2\n");
}

TEST_F(WriteLaneTest, AClientMayLeaveWhileItsCommitSleeps) {
  open_with_lane();
  const int before = engine_.written;
  writer_->send("write\nwrite\n");
  ASSERT_TRUE(committing());
  writer_.reset();
  Client other = connect();
  other.send("write\n");
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  engine_.commits = 3;
  EXPECT_EQ(other.read(5), "done\n");
  EXPECT_TRUE(eventually([&] { return engine_.written >= before + 3; }));
  EXPECT_TRUE(eventually([&] { return door_->connections() == 2; }));
}

TEST_F(WriteLaneTest, AClientThatEndsItsSendingHearsAllAnswers) {
  open_with_lane();
  writer_->send("write\nsay 2\n");
  ASSERT_TRUE(committing());
  writer_->send("say 3\n");
  writer_->end_sending();
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  engine_.commits = 1;
  EXPECT_EQ(writer_->read(9), "done\n2\n3\n");
  EXPECT_TRUE(writer_->closed());
}

TEST_F(WriteLaneTest, NobodyTimesOutWhileItsCommitSleeps) {
  options_.idle_timeout_ms = 1'000;
  options_.request_timeout_ms = 1'000;
  open_with_lane();
  writer_->send("write\nsay unfin");
  ASSERT_TRUE(committing());
  const int64_t until_ms = clock_ms() + 1'500;
  while (clock_ms() < until_ms) {
    EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  engine_.commits = 1;
  EXPECT_EQ(writer_->read(5), "done\n");
  EXPECT_EQ(writer_->ask("ished\n", 11), "unfinished\n");
}

TEST_F(WriteLaneTest, TheDoorMayCloseWhileACommitSleeps) {
  open_with_lane();
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  Client other = connect();
  other.send("write\n");
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  EXPECT_LT(stop_ms(), soon_ms);
  EXPECT_TRUE(writer_->closed());
  EXPECT_TRUE(other.closed());
  EXPECT_EQ(engine_.attached, 0);
}

TEST_F(WriteLaneTest, TheServerMayStopWhileACommitSleeps) {
  open_with_lane();
  writer_->send("write\n");
  ASSERT_TRUE(committing());
  EXPECT_EQ(reader_->ask("say here\n", 5), "here\n");
  engine_.stop();
  EXPECT_TRUE(reader_->closed());
  EXPECT_TRUE(eventually([&] { return engine_.attached == 0; }));
  EXPECT_EQ(door_->connections(), 0u) << "the writer's, too, whether it was told in time or not";
}

TEST_F(WriteLaneTest, LatenciesAndCountsAreThoseOfTheDoor) {
  open_with_lane();
  engine_.commits = 1'000;
  const uint64_t before = count(Counter::batches);
  EXPECT_EQ(writer_->ask("write\n", 5), "done\n");
  EXPECT_GT(count(Counter::batches), before);
  EXPECT_EQ(door_->connections(), 2u);
}

TEST(RecentReaders, CountOthersForAWhile) {
  const auto *const one = reinterpret_cast<const Connection *>(0x10);
  const auto *const other = reinterpret_cast<const Connection *>(0x20);
  RecentReaders readers;
  EXPECT_FALSE(readers.any_but(nullptr, 5'000));
  readers.note(*one, 5'000);
  EXPECT_TRUE(readers.any_but(nullptr, 5'000));
  EXPECT_FALSE(readers.any_but(one, 5'000)) << "nobody waits but who writes";
  EXPECT_TRUE(readers.any_but(other, 5'000));
  readers.note(*other, 5'005);
  readers.note(*other, 5'006);
  EXPECT_TRUE(readers.any_but(other, 6'000));
  EXPECT_FALSE(readers.any_but(other, 6'001));
  EXPECT_TRUE(readers.any_but(one, 6'006));
  EXPECT_FALSE(readers.any_but(one, 6'007));
}

/// Clients that have committed, except for the flush.
class UnflushedTest : public DoorTest {
 protected:
  void open_with_reader() {
    options_.committers = 1;
    engine_.commits_wait = true;
    open(Access::write);
    reader_ = std::make_unique<Client>(connect());
    read();
  }
  void read() { EXPECT_EQ(reader_->ask("rows 1 10\n", 14), rows_text(1, 10)); }
  bool flushing() {
    return eventually([this] { return engine_.flushing == 1; });
  }
  /// The turn in which it was sent is over.
  Client sent(const char *text) {
    Client client = connect();
    client.send(text);
    for (int i = 0; i < 3; ++i) read();
    return client;
  }

  std::unique_ptr<Client> reader_;
};

TEST_F(UnflushedTest, ACommitIsAnsweredWhenItIsFlushedAndHoldsNobodyUp) {
  open_with_reader();
  Client client = sent("commit\n");
  ASSERT_TRUE(flushing());
  for (int i = 0; i < 100; ++i) read();
  EXPECT_EQ(client.read(10, 20), "");
  EXPECT_EQ(engine_.flushing, 1);
  engine_.flushes = 1;
  EXPECT_EQ(client.read(10), "committed\n");
}

TEST_F(UnflushedTest, CommitsThatComeDuringAFlushShareTheNext) {
  open_with_reader();
  Client first = sent("commit\n");
  ASSERT_TRUE(flushing());
  std::vector<Client> others;
  for (int i = 0; i < 10; ++i) others.push_back(sent("commit\n"));
  engine_.flushes = 1;
  EXPECT_EQ(first.read(10), "committed\n");
  ASSERT_TRUE(flushing());
  for (Client &other : others) EXPECT_EQ(other.read(10, 1), "");
  engine_.flushes = 1;
  for (Client &other : others) EXPECT_EQ(other.read(10), "committed\n");
  EXPECT_EQ(engine_.flushes, 0);
}

TEST_F(UnflushedTest, ARunOfWritesComesBeforeTheFlushOfItsTurn) {
  open_with_reader();
  Client first = sent("write\n");
  ASSERT_TRUE(eventually([this] { return engine_.committing == 1; }));
  Client writer = sent("write\n");
  Client client = sent("commit\n");
  engine_.commits = 1;
  EXPECT_EQ(first.read(5), "done\n");
  ASSERT_TRUE(eventually([this] { return engine_.committing == 1; }));
  EXPECT_EQ(engine_.flushing, 0);
  engine_.commits = 1;
  ASSERT_TRUE(flushing());
  EXPECT_EQ(client.read(10, 20), "");
  engine_.flushes = 1;
  EXPECT_EQ(client.read(10), "committed\n");
  EXPECT_EQ(writer.read(5), "done\n");
}

TEST_F(UnflushedTest, AnswersBeforeACommitMayLeaveAndThoseBehindItWait) {
  open_with_reader();
  const std::string before = rows_text(500, 100);  // sent early, or not
  Client client = sent("rows 500 100\ncommit\nsay 2\nlone\nsay 3\n");
  Client last = sent("say 1\ncommit\n");
  ASSERT_TRUE(flushing());
  std::string heard = client.read(before.size() + 1, 20);
  EXPECT_TRUE(before.starts_with(heard));
  EXPECT_TRUE(std::string("1\n").starts_with(last.read(3, 1)));
  engine_.flushes = 2;  // the second one if they were in two turns
  heard += client.read(before.size() + 19 - heard.size());
  EXPECT_EQ(heard, before + "committed\n2\nfree\n3\n");
}

TEST_F(UnflushedTest, WhereNobodyKnowsWhetherItIsFlushedNobodyHearsOfIt) {
  open_with_reader();
  engine_.flush_fails = true;
  Client client = sent("commit\n");
  Client other = sent("say 1\nsay 2\n");
  engine_.flushes = 1;
  EXPECT_EQ(client.read(10), "");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(other.read(4), "1\n2\n");
  read();
}

TEST_F(UnflushedTest, AClientMayLeaveMeanwhileAndSoMayTheDoor) {
  open_with_reader();
  std::make_unique<Client>(sent("commit\n")).reset();
  ASSERT_TRUE(flushing());
  Client second = sent("commit\n");
  engine_.flushes = 1;
  EXPECT_TRUE(eventually([&] { return door_->connections() == 2; }));
  ASSERT_TRUE(flushing());
  std::thread closing([this] { door_->stop(); });
  engine_.flushes = 1;
  closing.join();
  EXPECT_TRUE(std::string("committed\n").starts_with(second.read(10)));
}

TEST_F(UnflushedTest, ALoneClientsCommitIsMadeElsewhere) {
  engine_.commits_wait = true;
  open(Access::write);
  EXPECT_EQ(connect().ask("commit\n", 10), "committed\n");
  EXPECT_EQ(engine_.runs_slow, 1);
}

}  // namespace
}  // namespace postern::door
