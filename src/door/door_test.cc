#include "door/door.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "base/pool.h"
#include "door/testing/toy.h"
#include "ping/ping.h"

namespace postern::door {
namespace {

TEST_F(DoorTest, AnswersInTheOrderAskedWhenPipelined) {
  open();
  Client client = connect();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 20'000; ++i) {
    requests += "say " + std::to_string(i) + "\n";
    answers += std::to_string(i) + "\n";
  }
  std::thread sender([&] { client.send(requests); });
  EXPECT_EQ(client.read(answers.size()), answers);
  sender.join();
}

TEST_F(DoorTest, ManyPipeliningConnectionsAreAllServed) {
  options_.threads = 2;
  open();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 2'000; ++i) requests += "say " + std::to_string(i) + "\n", answers += std::to_string(i) + "\n";
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(connect());
  for (Client &client : clients) client.send(requests);
  for (Client &client : clients) EXPECT_EQ(client.read(answers.size()), answers);
}

TEST_F(DoorTest, RequestMayBeCutAnywhere) {
  open();
  const std::string requests = "say one\nrows 2 12\nsay two\n";
  const std::string answers = "one\n" + rows_text(2, 12) + "two\n";
  Client client = connect();
  for (size_t cut = 0; cut <= requests.size(); ++cut) {
    client.send(requests.substr(0, cut));
    client.send(requests.substr(cut));
    ASSERT_EQ(client.read(answers.size()), answers) << "cut at " << cut;
  }
  for (const char byte : requests) client.send({&byte, 1});
  EXPECT_EQ(client.read(answers.size()), answers);
}

TEST_F(DoorTest, ClientMayLeaveAtAnyByte) {
  open();
  const std::string requests = "say one\nrows 9000 100\nsay two\n";
  for (size_t cut = 0; cut <= requests.size(); ++cut) connect().send(requests.substr(0, cut));
  Client client = connect();
  EXPECT_EQ(client.ask("say here\n", 5), "here\n");
  EXPECT_TRUE(eventually([&] { return door_->connections() == 1; }));
}

TEST_F(DoorTest, HalfClosedClientHearsAllAnswersAndThenTheEnd) {
  open();
  Client client = connect();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 3'000; ++i) requests += "say " + std::to_string(i) + "\n", answers += std::to_string(i) + "\n";
  requests += "rows 9000 50\nsay unfinished";
  answers += rows_text(9000, 50);
  client.send(requests);
  client.end_sending();
  EXPECT_EQ(client.read(answers.size()), answers);
  EXPECT_TRUE(client.closed());
}

TEST_F(DoorTest, HalfClosedClientIsClosedHoweverManyReceivesItsBytesTake) {
  open();
  const std::string text(70'000, 'a');
  for (int i = 0; i < 40; ++i) {
    Client client = connect();
    client.send("say x\nsay " + text + "\n");
    client.end_sending();
    ASSERT_TRUE(client.read(text.size() + 3) == "x\n" + text + "\n");
    ASSERT_TRUE(client.closed(5'000)) << i;
  }
}

TEST_F(DoorTest, ClientThatDoesNotReadIsNotRead) {
  options_.send_buffer = 16 << 10;
  options_.receive_buffer = 16 << 10;
  open();
  Client client = connect();
  const std::string text(1000, 'a');
  const std::string request = "say " + text + "\n";
  std::string block;
  for (int i = 0; i < 64; ++i) block += request;
  size_t sent = 0;
  // Until the kernel's buffers on both sides are full: the number of received bytes stays the same for a while.
  uint64_t received = 0;
  int64_t unchanged_since = clock_ms();
  ASSERT_TRUE(eventually([&] {
    sent += client.send_without_waiting(std::string_view(block).substr(sent % block.size()));
    if (const uint64_t now = count(Counter::bytes_received); now != received)
      received = now, unchanged_since = clock_ms();
    return clock_ms() - unchanged_since > 200;
  }));
  const uint64_t held = received - count(Counter::bytes_sent);
  EXPECT_LT(held, limits::output_high_water_bytes + limits::ops_per_connection_max * request.size() +
                      3 * limits::block_bytes_recycled_max);
  Client other = connect();
  EXPECT_EQ(other.ask("say here\n", 5), "here\n");
  const size_t whole = sent / request.size();
  const std::string answers = client.read(whole * (text.size() + 1));
  EXPECT_EQ(answers.size(), whole * (text.size() + 1));
}

// Requests are small and answers may be large: the bytes answered in one turn must not grow with the number of
// pipelined requests.
TEST_F(DoorTest, PipelinedAnswersThatNobodyReadsAreBoundedInMemory) {
  options_.send_buffer = 16 << 10;
  open();
  constexpr size_t clients = 10;
  constexpr size_t finds = limits::ops_per_connection_max;
  std::string requests;
  std::string answers;
  for (size_t i = 0; i < finds; ++i) {
    requests += "rows 100 1200\nsay " + std::to_string(i) + "\n";
    answers += rows_text(100, 1'200) + std::to_string(i) + "\n";
  }
  const size_t before = pool::large_bytes();
  std::vector<Client> silent;
  for (size_t i = 0; i < clients; ++i) silent.push_back(connect());
  for (Client &client : silent) client.send(requests);
  for (Client &client : silent) EXPECT_FALSE(client.read(1).empty());
  size_t most = 0;
  Client other = connect();
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(other.ask("say x\n", 2), "x\n");
    most = std::max(most, pool::large_bytes() - before);
  }
  EXPECT_LE(most, clients * 4 * limits::output_high_water_bytes);
  for (Client &client : silent) EXPECT_TRUE(client.read(answers.size() - 1) == std::string_view(answers).substr(1));
  EXPECT_EQ(engine_.runs_slow, 0) << "a worker can serve them";
}

// A long reply is sent before the rest of its run is done, and so are those of a slice before its last.
TEST_F(DoorTest, LongAnswersKeepTheirOrderAndNeedNoSlowLane) {
  options_.send_buffer = 64 << 10;
  open();
  constexpr size_t clients = 20;
  const std::vector<size_t> sizes = {1'000'000, 10, 40'000, 40'000, 40'000, 20'000, 10, 100'000, 100'000, 100'000, 10};
  std::string requests;
  std::string answers;
  for (int i = 0; i < 10; ++i) {
    for (const size_t size : sizes) {
      requests += "rows 1 " + std::to_string(size) + "\nsay " + std::to_string(i) + "\n";
      answers += rows_text(1, size) + std::to_string(i) + "\n";
    }
  }
  const size_t before = pool::large_bytes();
  std::vector<Client> asking;
  for (size_t i = 0; i < clients; ++i) asking.push_back(connect());
  for (Client &client : asking) client.send(requests);
  for (Client &client : asking) EXPECT_FALSE(client.read(1).empty());
  // No connection holds more than one such row beside the allowed unsent bytes; blocks are powers of two.
  EXPECT_LE(pool::large_bytes() - before, clients * (size_t{2} << 20));
  for (Client &client : asking) EXPECT_TRUE(client.read(answers.size() - 1) == std::string_view(answers).substr(1));
  EXPECT_EQ(engine_.runs_slow, 0) << "a worker can serve them";
  EXPECT_TRUE(eventually([&] { return pool::large_bytes() == before; })) << "who is idle holds nothing";
}

TEST_F(DoorTest, OneThatMustWaitIsLeftAloneByLongAnswersBeforeIt) {
  open();
  engine_.busy = true;
  Client client = connect();
  client.send("rows 1 100000\nrows 1 100000\ntable\nrows 1 100000\nsay end\n");
  const std::string row = rows_text(1, 100'000);
  EXPECT_TRUE(client.read(2 * row.size()) == row + row) << "what is answered does not wait";
  engine_.busy = false;
  EXPECT_TRUE(client.read(row.size() + 9) == "free\n" + row + "end\n");
}

TEST_F(DoorTest, PutOffRequestsAreAnsweredBeforeAConnectionCloses) {
  open();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 50; ++i) requests += "rows 100 1200\n", answers += rows_text(100, 1'200);
  Client leaving = connect();
  leaving.send(requests + "bye\nsay never\n");
  EXPECT_TRUE(leaving.read(answers.size() + 4) == answers + "bye\n");
  EXPECT_TRUE(leaving.closed());
  Client ended = connect();
  ended.send(requests);
  ended.end_sending();
  EXPECT_TRUE(ended.read(answers.size()) == answers);
  EXPECT_TRUE(ended.closed());
  // Too many for a turn, or for a held table, after requests that were put off.
  engine_.busy = true;
  Client slow = connect();
  slow.send(requests + "rows 5000 20\n" + requests + "table\nsay x\n");
  answers += rows_text(5'000, 20) + answers;
  EXPECT_TRUE(slow.read(answers.size()) == answers);
  engine_.busy = false;
  EXPECT_EQ(slow.read(7), "free\nx\n");
}

TEST_F(DoorTest, StopsWithRequestsPutOff) {
  options_.send_buffer = 16 << 10;
  open();
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += "rows 100 1200\n";
  Client gone = connect();
  gone.send(requests);
  EXPECT_EQ(gone.read(1).size(), 1u);
  gone.close();
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  Client silent = connect();
  silent.send(requests);
  EXPECT_EQ(silent.read(1).size(), 1u);
  EXPECT_LT(stop_ms(), soon_ms);
}

TEST_F(DoorTest, OneReceiveAndOneSendForARequestAtDepthOne) {
  open();
  Client client = connect();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  // The last answer may arrive before its send is counted.
  EXPECT_TRUE(eventually([&] { return count(Counter::bytes_sent) == 600; }));
  EXPECT_EQ(count(Counter::receives), 300u);
  EXPECT_EQ(count(Counter::sends), 300u);
  EXPECT_EQ(count(Counter::bytes_received), 1800u);
}

TEST_F(DoorTest, OneReceiveAndOneSendForRequestsThatComeTogether) {
  open();
  Client client = connect();
  // Longer than requested, shorter than a block.
  const std::string word(limits::block_bytes_min / 32, 'x');
  std::string requests;
  std::string answers;
  for (int i = 0; i < 16; ++i) {
    requests += "say " + word + "\n";
    answers += word + "\n";
  }
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.ask(requests, answers.size()), answers);
  EXPECT_TRUE(eventually([&] { return count(Counter::bytes_sent) == 100 * answers.size(); }));
  EXPECT_EQ(count(Counter::receives), 100u);
  EXPECT_EQ(count(Counter::sends), 100u);
}

TEST_F(DoorTest, ConnectionsBeyondTheLimitAreClosedAndCounted) {
  options_.connections_max = 3;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connect());
  for (Client &client : clients) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  Client refused = connect();
  EXPECT_EQ(refused.read(100), "too_many_connections\n");
  EXPECT_TRUE(refused.closed());
  EXPECT_EQ(count(Counter::connections_refused), 1u);
  EXPECT_EQ(count(Failure::too_many_connections), 1u);
  EXPECT_EQ(door_->connections_peak(), 3u);
  clients.pop_back();
  ASSERT_TRUE(eventually([&] { return door_->connections() == 2; }));
  Client again = connect();
  EXPECT_EQ(again.ask("say x\n", 2), "x\n");
}

TEST_F(DoorTest, ConnectionsAreDealtToTheWorkerWithTheFewest) {
  options_.threads = 2;
  open();
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(connect());
  for (Client &client : clients) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  EXPECT_EQ(door_->connections(), 10u);
  EXPECT_EQ(count(Counter::connections_accepted), 10u);
}

TEST_F(DoorTest, SilentConnectionIsClosedAndABusyOneIsNot) {
  options_.idle_timeout_ms = 400;
  open();
  Client silent = connect();
  Client unfinished = connect();
  Client busy = connect();
  ASSERT_EQ(silent.ask("say x\n", 2), "x\n");
  std::atomic<bool> gone{false};
  std::thread watcher([&] {
    EXPECT_TRUE(silent.closed());
    EXPECT_EQ(unfinished.read(100), "request_timed_out\n");
    gone = true;
  });
  for (int64_t until = clock_ms() + deadline_ms; !gone && clock_ms() < until;) {
    unfinished.send("a");  // never a whole request
    ASSERT_EQ(busy.ask("say x\n", 2), "x\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  watcher.join();
  EXPECT_EQ(busy.ask("say x\n", 2), "x\n");
  EXPECT_EQ(count(Counter::connections_timed_out), 2u);
}

TEST_F(DoorTest, ClosesAfterTheLastAnswerAndReadsNoFurther) {
  open();
  Client client = connect();
  EXPECT_EQ(client.ask("say a\nbye\nsay b\n", 6), "a\nbye\n");
  EXPECT_TRUE(client.closed());
}

TEST_F(DoorTest, IdleWorkerHoldsNothing) {
  open();
  Client client = connect();
  ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  EXPECT_TRUE(eventually([&] { return engine_.holding == 0; }));
}

// Otherwise each of a few clients would wait for the slowest of them, and the worker then for all of them.
TEST_F(DoorTest, AnswerLeavesWhileOthersOfItsTurnAreCarriedOut) {
  open();
  Client first = connect();
  Client quick = connect();
  Client slow = connect();
  for (Client *const client : {&first, &quick, &slow}) ASSERT_EQ(client->ask("say x\n", 2), "x\n");
  ASSERT_TRUE(first.send("hold\n"));
  ASSERT_TRUE(eventually([&] { return engine_.holding_up == 1; }));
  ASSERT_TRUE(quick.send("say a\nsay b\n"));
  ASSERT_TRUE(slow.send("say c\nhold\nsay d\n"));
  engine_.holds = 1;
  ASSERT_EQ(first.read(5), "held\n");
  EXPECT_EQ(quick.read(4), "a\nb\n");
  EXPECT_TRUE(eventually([&] { return engine_.holding_up == 1; }));
  engine_.holds = 1;
  EXPECT_EQ(slow.read(9), "c\nheld\nd\n");
}

// All three are in one turn: they were sent while another client's commit blocked the worker.
TEST_F(DoorTest, ReadersWaitForNobodysCommit) {
  open(Access::write);
  Client other = connect();
  Client reader = connect();
  Client writer = connect();
  Client both = connect();
  for (Client *const client : {&other, &reader, &writer, &both}) ASSERT_EQ(client->ask("say x\n", 2), "x\n");
  ASSERT_TRUE(other.send("write\n"));
  ASSERT_TRUE(eventually([&] { return engine_.committing == 1; }));
  ASSERT_TRUE(writer.send("write\n"));
  ASSERT_TRUE(both.send("say a\nwrite\nsay b\n"));
  ASSERT_TRUE(reader.send("say c\nrows 1 3\n"));
  engine_.commits = 1;
  ASSERT_EQ(other.read(5), "done\n");
  EXPECT_EQ(reader.read(9), "c\n0__end\n");
  EXPECT_TRUE(eventually([&] { return engine_.committing == 1; }));
  engine_.commits = 1;
  EXPECT_EQ(writer.read(5), "done\n");
  EXPECT_EQ(both.read(9), "a\ndone\nb\n") << "the order of its own requests";
  EXPECT_EQ(engine_.commits, 0) << "one commit for both";
}

// A worker that is kept awake by bytes that never become a request must release its tables all the same, or one client
// could block DDL for ever.
TEST_F(DoorTest, WorkerKeptAwakeWithoutRequestsHoldsNothing) {
  open();
  Client client = connect();
  Client dribbling = connect();
  ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  std::atomic<bool> done{false};
  std::thread dribbler([&] {
    while (!done) {
      dribbling.send("a");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  EXPECT_TRUE(eventually([&] { return engine_.holding == 0; }, 3'000));
  done = true;
  dribbler.join();
}

TEST_F(DoorTest, RefusesPolitelyWithoutDescriptorsAndGoesOnAfterwards) {
  open();
  Client before = connect();
  ASSERT_EQ(before.ask("say x\n", 2), "x\n");
  // Sockets that connect after the door has run out of descriptors to accept them.
  std::vector<net::Fd> sockets;
  for (int i = 0; i < 5; ++i) sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));
  rlimit usual;
  getrlimit(RLIMIT_NOFILE, &usual);
  const net::Fd highest(::dup(before.fd()));
  rlimit few = usual;
  few.rlim_cur = static_cast<rlim_t>(highest.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, options_.unix_path.c_str(), sizeof address.sun_path - 1);
  for (const net::Fd &fd : sockets) ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address);
  const bool refused = eventually([&] { return count(Counter::connections_refused) == sockets.size(); });
  const std::string meanwhile = before.ask("say x\n", 2);
  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_TRUE(refused);
  EXPECT_EQ(meanwhile, "x\n");
  Client after = connect();
  EXPECT_EQ(after.ask("say x\n", 2), "x\n");
}

TEST_F(DoorTest, PingAnswersEveryLine) {
  options_.any_port = true;
  ping::Ping protocol("pong");
  Door door(options_, protocol, engine_, Access::read);
  std::string error;
  ASSERT_TRUE(door.start(error)) << error;
  Client client(door.port());
  EXPECT_EQ(client.ask("\nanything\nx\n", 15), "pong\npong\npong\n");
}

}  // namespace
}  // namespace postern::door
