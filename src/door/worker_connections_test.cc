// A worker's connections without the worker: a poller, sockets, and a clock that the test sets.
#include "door/worker_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "door/testing/parts_of_worker.h"

namespace postern::door {
namespace {

/// Sleeps until it is woken.
class Dozer final : public Session {
 public:
  bool may_sleep() const override { return true; }
  void take_waker(Waker &its_waker) override { waker = &its_waker; }
  int64_t wake_ms() const override { return wakes_ms; }
  Collected collect(Input &, Batch &, uint32_t) override { return Collected::sleep; }
  void settled() override {}

  Waker *waker = nullptr;
  int64_t wakes_ms = INT64_MAX;
};

struct Dozers final : Protocol {
  std::unique_ptr<Session> open_session(Output &, const Peer &) override {
    auto session = std::make_unique<Dozer>();
    last = session.get();
    return session;
  }
  void refuse(Output &, Failure) override {}
  Dozer *last = nullptr;
};

class WorkerConnectionsTest : public PartsOfWorkerTest {
 protected:
  WorkerConnectionsTest() {
    options_.name = "toy";
    options_.idle_timeout_ms = 1'000;
    options_.request_timeout_ms = 300;
  }

  void open(Protocol &protocol) {
    connections_ = std::make_unique<WorkerConnections>(WorkerConnections::Context{.options = options_,
                                                                                  .protocol = protocol,
                                                                                  .statements = statements_,
                                                                                  .poller = poller_,
                                                                                  .doorbell = doorbell_,
                                                                                  .counters = counters_,
                                                                                  .guard = guard_});
  }
  ~WorkerConnectionsTest() override {
    if (connections_ != nullptr) connections_->close_all();
  }

  /// A new client, in a turn that is over. `peer` is its end.
  Connection &come(net::Fd &peer) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    peer.reset(ends[0]);
    std::unique_ptr<Connection> made = connections_->make(net::AnyChannel(net::Fd(ends[1])), {}, true, *roster_);
    Connection &connection = *made;
    connections_->count_one();
    connections_->add(std::move(made));
    end_turn();
    return connection;
  }
  /// Begins a turn with the poller's events.
  void begin_turn(int64_t now_ms) {
    connections_->set_time(now_ms);
    connections_->resume();
    epoll_event events[10];
    const size_t count = poller_.wait(events, 0);
    for (size_t i = 0; i < count; ++i)
      connections_->note_events(*static_cast<Connection *>(events[i].data.ptr), events[i].events);
  }
  void end_turn() {
    connections_->finish();
    connections_->end_turn();
  }
  static void send(const net::Fd &peer, Bytes text) {
    ASSERT_EQ(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// All received bytes, and "end" if the connection is closed.
  static std::string heard(const net::Fd &peer) {
    std::string text;
    char piece[100];
    for (;;) {
      const ssize_t bytes = ::recv(peer.get(), piece, sizeof piece, 0);
      if (bytes <= 0) return bytes == 0 ? text + "end" : text;
      text.append(piece, static_cast<size_t>(bytes));
    }
  }

  const Roster::Owner roster_ = Roster::make();
  std::unique_ptr<WorkerConnections> connections_;
};

TEST_F(WorkerConnectionsTest, AreCountedUntilTheyAreClosed) {
  open(ping_);
  net::Fd one;
  net::Fd other;
  come(one);
  come(other);
  EXPECT_EQ(connections_->count(), 2u);
  one.reset();
  begin_turn(1);
  EXPECT_EQ(connections_->in_turn().size(), 1u);
  end_turn();
  EXPECT_EQ(connections_->count(), 1u);
  EXPECT_EQ(counters_.get(Counter::connections_closed), 1u);
  connections_->close_all();
  EXPECT_EQ(connections_->count(), 0u);
  EXPECT_EQ(heard(other), "end");
}

TEST_F(WorkerConnectionsTest, ReceivedBytesAreWorkUntilTheyAreSettledAndSent) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  EXPECT_FALSE(connections_->are_at_work());
  send(peer, "hello\n");
  begin_turn(1);
  ASSERT_EQ(connections_->in_turn().size(), 1u);
  EXPECT_TRUE(connection.has_work());
  Batch batch;
  batch.begin(0);
  connection.note_collected(connection.session->collect(connection.input, batch, 10));
  for (Op &op : batch.ops()) op.reply->done({});
  connections_->settle(connection);
  EXPECT_EQ(heard(peer), "");
  end_turn();
  EXPECT_EQ(heard(peer), "pong\n");
  EXPECT_FALSE(connection.has_work());
  EXPECT_FALSE(connections_->are_at_work());
  EXPECT_EQ(counters_.get(Counter::bytes_received), 6u);
  EXPECT_EQ(counters_.get(Counter::bytes_sent), 5u);
}

TEST_F(WorkerConnectionsTest, WorkThatIsLeftBeginsTheNextTurn) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  send(peer, "hello\n");
  begin_turn(1);
  end_turn();
  EXPECT_TRUE(connections_->are_at_work());
  begin_turn(2);
  ASSERT_EQ(connections_->in_turn().size(), 1u);
  EXPECT_EQ(connections_->in_turn().front(), &connection);
  end_turn();
}

TEST_F(WorkerConnectionsTest, RefusedOnesHearWhyAndAreClosed) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  send(peer, "hello\n");
  begin_turn(1);
  connections_->refuse(connection, Failure::out_of_memory);
  EXPECT_FALSE(connection.peer_has_ended()) << "or its session would end when the server has read that end";
  end_turn();
  EXPECT_EQ(connections_->count(), 0u);
  EXPECT_EQ(counters_.get(Failure::out_of_memory), 1u);
  EXPECT_TRUE(heard(peer).ends_with("end"));
}

TEST_F(WorkerConnectionsTest, IdleOnesAreClosedInTime) {
  open(ping_);
  net::Fd early;
  net::Fd late;
  come(early);
  connections_->set_time(600);
  Connection &other = come(late);
  EXPECT_EQ(connections_->left_ms(), 400);
  begin_turn(999);
  end_turn();
  EXPECT_EQ(connections_->count(), 2u);
  EXPECT_EQ(connections_->left_ms(), 1);
  begin_turn(1'000);
  end_turn();
  EXPECT_EQ(connections_->count(), 1u);
  EXPECT_EQ(heard(early), "end");
  EXPECT_EQ(counters_.get(Counter::connections_timed_out), 1u);
  connections_->note_progress(other);
  EXPECT_EQ(connections_->left_ms(), 1'000);
}

TEST_F(WorkerConnectionsTest, ABegunRequestHasToEndInTime) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  send(peer, "hel");
  begin_turn(100);
  Batch batch;
  batch.begin(0);
  connection.note_collected(connection.session->collect(connection.input, batch, 10));
  end_turn();
  EXPECT_EQ(connections_->left_ms(), 300);
  begin_turn(400);
  end_turn();
  EXPECT_EQ(connections_->count(), 0u);
  EXPECT_EQ(counters_.get(Counter::connections_timed_out), 1u);
}

TEST_F(WorkerConnectionsTest, LentOnesAreWatchedAndNeitherReadNorClosed) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  connections_->lend(connection);
  send(peer, "hello\n");
  begin_turn(5'000);
  end_turn();
  EXPECT_EQ(connections_->count(), 1u);
  EXPECT_EQ(connection.input.unparsed_bytes(), 0u);
  EXPECT_TRUE(connection.unread());
  connections_->set_time(5'000);
  connections_->take_into_turn(connection);
  connections_->receive(connection);
  EXPECT_EQ(connection.input.unparsed_bytes(), 6u);
  end_turn();
  EXPECT_EQ(connections_->left_ms(), 1'000);
}

TEST_F(WorkerConnectionsTest, OnesThatAreServedElsewhereStayWatched) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  const auto leave = [&] {
    std::unique_ptr<Connection> away = connections_->let_go(connection);
    WorkerConnections::let_be_served(*away);
    return away;
  };
  std::unique_ptr<Connection> away = leave();
  connections_->add(std::move(away));
  ASSERT_EQ(connections_->in_turn().size(), 1u);
  end_turn();
  EXPECT_FALSE(connections_->are_at_work()) << "the poller has told of nothing";
  EXPECT_EQ(counters_.get(Counter::receives), 0u);

  away = leave();
  send(peer, "hello\n");
  begin_turn(5'001);
  EXPECT_TRUE(connections_->in_turn().empty());
  end_turn();
  EXPECT_EQ(counters_.get(Counter::receives), 0u);
  connections_->add(std::move(away));
  end_turn();
  begin_turn(5'002);
  EXPECT_TRUE(connection.has_work());
  connection.forget_unparsed();
  end_turn();

  send(peer, "again\n");
  begin_turn(5'003);
  EXPECT_TRUE(connection.has_work()) << "it is watched as before";
  connection.forget_unparsed();
  end_turn();

  away = leave();
  peer.reset();
  begin_turn(5'004);
  end_turn();
  EXPECT_FALSE(away->is_dead()) << "its phase is another thread's";
  connections_->add(std::move(away));
  end_turn();
  begin_turn(5'005);
  end_turn();
  EXPECT_EQ(connections_->count(), 0u);
}

TEST_F(WorkerConnectionsTest, OnesThatLeaveComeBackAsTheyWere) {
  open(ping_);
  net::Fd peer;
  Connection &connection = come(peer);
  std::unique_ptr<Connection> away = connections_->let_go(connection);
  connections_->stop_watching(*away);
  begin_turn(5'000);
  EXPECT_TRUE(connections_->in_turn().empty());
  end_turn();
  EXPECT_EQ(connections_->count(), 1u);
  connections_->add(std::move(away));
  ASSERT_EQ(connections_->in_turn().size(), 1u);
  end_turn();
  send(peer, "hello\n");
  begin_turn(5'001);
  EXPECT_TRUE(connection.has_work());
  end_turn();
}

TEST_F(WorkerConnectionsTest, SleepingOnesAreInNoTurnUntilTheyAreWoken) {
  Dozers dozers;
  open(dozers);
  net::Fd peer;
  Connection &connection = come(peer);
  const auto fall_asleep = [&] {
    connection.note_collected(Collected::sleep);
    connections_->put_to_sleep(connection);
    end_turn();
  };
  send(peer, "x");
  begin_turn(100);
  fall_asleep();
  begin_turn(5'000);
  EXPECT_TRUE(connections_->in_turn().empty()) << "its client's byte is still there";
  end_turn();
  EXPECT_TRUE(connection.is_asleep()) << "however long it is idle";
  dozers.last->waker->wake();
  connections_->take_woken();
  EXPECT_FALSE(connection.is_asleep());
  ASSERT_EQ(connections_->in_turn().size(), 1u);
  dozers.last->wakes_ms = 6'000;
  fall_asleep();
  EXPECT_EQ(connections_->left_ms(), 1'000);
  begin_turn(6'000);
  end_turn();
  EXPECT_FALSE(connection.is_asleep());
  EXPECT_EQ(connections_->count(), 1u);
  connections_->close_all();
}

}  // namespace
}  // namespace postern::door
