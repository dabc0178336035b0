// Commits that are made, but for a flush: when clients are answered, and which thread flushes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "door/testing/toy.h"

namespace postern::door {
namespace {

/// Clients that have committed, but for the flush.
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
  EXPECT_TRUE(engine_.flushed_in_lane);
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
  const std::string before = rows_text(500, 100);  // sent ahead, or not
  Client client = sent("rows 500 100\ncommit\nsay 2\nlone\nsay 3\n");
  Client last = sent("say 1\ncommit\n");
  ASSERT_TRUE(flushing());
  std::string heard = client.read(before.size() + 1, 20);
  EXPECT_TRUE(before.starts_with(heard));
  EXPECT_TRUE(std::string("1\n").starts_with(last.read(3, 1)));
  engine_.flushes = 2;  // the second one where they were in two turns
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

TEST_F(UnflushedTest, AWorkerFlushesForItsOnlyClient) {
  engine_.commits_wait = true;
  options_.commits_alone = [] { return true; };
  options_.threads = 2;
  open(Access::write);
  Client client = connect();
  client.send("commit\n");
  ASSERT_TRUE(flushing());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(connect().ask("say here\n", 5), "here\n");
  EXPECT_EQ(client.read(10, 1), "");
  EXPECT_FALSE(engine_.flushed_in_lane);
  engine_.flushes = 1;
  EXPECT_EQ(client.read(10), "committed\n");
  engine_.flush_fails = true;
  engine_.flushes = 1;
  client.send("commit\n");
  EXPECT_EQ(client.read(10), "");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(engine_.runs_slow, 0);
}

}  // namespace
}  // namespace postern::door
