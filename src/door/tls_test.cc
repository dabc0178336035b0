// TLS through a whole door: how it may begin, and what happens to unfinished handshakes.
#include <malloc.h>
#include <sys/resource.h>
#include <fcntl.h>

#include <gtest/gtest.h>

#include "door/testing/tls_client.h"

namespace postern::door {
namespace {

constexpr std::string_view tls_begins = "\x16\x03\x01";

TEST_F(TlsDoorTest, TheFirstByteDecides) {
  open();
  Client plain(door_->port());
  EXPECT_EQ(plain.ask("say plain\n", 6), "plain\n");
  TlsClient secret(door_->port());
  ASSERT_EQ(secret.peer.step(), 1);
  EXPECT_EQ(secret.ask("say secret\n", 7), "secret\n");
  EXPECT_EQ(plain.ask("say again\n", 6), "again\n");
  EXPECT_EQ(secret.ask("say again\n", 6), "again\n");
  Client local = connect();
  EXPECT_EQ(local.ask("say local\n", 6), "local\n");
  EXPECT_EQ(count(Counter::tls_connections), 1u);
  EXPECT_EQ(count(Counter::tls_resumptions), 0u);
  EXPECT_EQ(count(Counter::tls_handshakes_failed), 0u);
}

TEST_F(TlsDoorTest, APlainRequestStillCostsOneReceiveAndOneSend) {
  open();
  Client client(door_->port());
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  EXPECT_TRUE(eventually([&] { return count(Counter::bytes_sent) == 600; }));
  EXPECT_EQ(count(Counter::receives), 300u);
  EXPECT_EQ(count(Counter::sends), 300u);
}

TEST_F(TlsDoorTest, AnEncryptedRequestCostsOneReceiveAndOneSend) {
  open();
  TlsClient client(door_->port());
  ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  const uint64_t receives = count(Counter::receives);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.ask("say x\n", 2), "x\n");
  EXPECT_TRUE(eventually([&] { return count(Counter::bytes_sent) == 602; }));
  EXPECT_EQ(count(Counter::receives) - receives, 300u);
  EXPECT_EQ(count(Counter::sends), 301u);
}

TEST_F(TlsDoorTest, PlainClientsLearnThatTlsIsRequired) {
  options_.require_tls = true;
  open();
  Client plain(door_->port());
  EXPECT_EQ(plain.ask("say plain\n", 100), "tls_required\n");
  Client pipelined(door_->port());
  EXPECT_EQ(pipelined.ask("say a\nsay b\nrows 3 10\nsay", 100), "tls_required\n");
  TlsClient secret(door_->port());
  EXPECT_EQ(secret.ask("say secret\n", 7), "secret\n");
  Client local = connect();
  EXPECT_EQ(local.ask("say local\n", 6), "local\n");
  EXPECT_EQ(count(Failure::tls_required), 2u);
  EXPECT_TRUE(eventually([&] { return door_->connections() == 2; }));
}

TEST_F(TlsDoorTest, PipelinedRequestsAndStreamsThroughTls) {
  options_.send_buffer = 16 << 10;
  open();
  TlsClient client(door_->port());
  std::string requests;
  std::string answers;
  for (int i = 0; i < 3'000; ++i) requests += "say " + std::to_string(i) + "\n", answers += std::to_string(i) + "\n";
  requests += "rows 30000 100\nsay last\n";
  answers += rows_text(30'000, 100) + "last\n";
  ASSERT_EQ(client.peer.step(), 1);
  for (size_t sent = 0; sent < requests.size();) sent += client.peer.send(std::string_view(requests).substr(sent));
  EXPECT_TRUE(client.read(answers.size()) == answers);
  EXPECT_GT(engine_.runs_slow, 0);
}

TEST_F(TlsDoorTest, EncryptedConnectionsEndPolitely) {
  open();
  TlsClient client(door_->port());
  EXPECT_EQ(client.ask("say a\nbye\nsay b\n", 6), "a\nbye\n");
  EXPECT_EQ(client.read(1), "");
  EXPECT_TRUE(client.peer.ended());
  TlsClient leaving(door_->port());
  ASSERT_EQ(leaving.ask("say a\n", 2), "a\n");
  leaving.peer.send("rows 9000 50\n");
  SSL_shutdown(leaving.peer.ssl());
  const std::string answer = rows_text(9'000, 50);
  EXPECT_TRUE(leaving.read(answer.size()) == answer) << "asked before it ended";
  EXPECT_EQ(leaving.read(1), "");
  EXPECT_TRUE(leaving.peer.ended());
}

TEST_F(TlsDoorTest, HandshakesThatFailAreCountedAndClosed) {
  open();
  Client garbage(door_->port());
  garbage.send(std::string_view("\x16\x03\x01\x00\x05hello", 10));
  EXPECT_EQ(garbage.read(100).substr(0, 2), "\x15\x03") << "an alert";
  EXPECT_TRUE(garbage.closed());
  TlsClient old(door_->port(), {.version_min = TLS1_1_VERSION, .version_max = TLS1_1_VERSION});
  EXPECT_EQ(old.peer.step(), -1);
  Client gone(door_->port());
  gone.send("\x16");
  gone.close();
  EXPECT_TRUE(eventually([&] { return count(Counter::tls_handshakes_failed) == 3; }));
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  EXPECT_EQ(count(Counter::tls_connections), 0u);
}

TEST_F(TlsDoorTest, ManyHandshakesAtOnceAreAllServedAndDelayNobodyForLong) {
  open();
  Client busy(door_->port());
  std::vector<std::unique_ptr<TlsClient>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<TlsClient>(door_->port()));
  std::thread storm([&] {
    for (const auto &client : clients) {
      // First all first flights, then the rest of each: many handshakes are ready at once.
      ::fcntl(client->client.fd(), F_SETFL, O_NONBLOCK);
      client->peer.step();
      ::fcntl(client->client.fd(), F_SETFL, 0);
    }
    for (const auto &client : clients) EXPECT_EQ(client->peer.step(), 1);
    for (const auto &client : clients) EXPECT_EQ(client->ask("say x\n", 2), "x\n");
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(busy.ask("say x\n", 2), "x\n");
  storm.join();
  EXPECT_EQ(count(Counter::tls_connections), 200u);
}

TEST_F(TlsDoorTest, HandshakesThatNobodyFinishesKeepNobodyOut) {
  rlimit usual;
  getrlimit(RLIMIT_NOFILE, &usual);
  rlimit many = usual;
  many.rlim_cur = std::min<rlim_t>(usual.rlim_max, 3 * limits::handshakes_max);
  setrlimit(RLIMIT_NOFILE, &many);
  if (many.rlim_cur < 3 * limits::handshakes_max) GTEST_SKIP() << "too few descriptors";
  options_.backlog = limits::handshakes_max * 2;
  options_.request_timeout_ms = 20'000;
  open();
  const int64_t begin = clock_ms();
  {
    std::vector<Client> half;
    for (uint32_t i = 0; i < limits::handshakes_max + 20; ++i) half.emplace_back(door_->port()).send(tls_begins);
    TlsClient client(door_->port());
    EXPECT_EQ(client.ask("say x\n", 2), "x\n");
    EXPECT_LT(clock_ms() - begin, 4 * limits::handshake_patience_ms);
    Client plain(door_->port());
    EXPECT_EQ(plain.ask("say x\n", 2), "x\n");
  }
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
  EXPECT_EQ(count(Counter::tls_connections), 1u);
  setrlimit(RLIMIT_NOFILE, &usual);
}

TEST_F(TlsDoorTest, UnfinishedRequestsAndHandshakesAreTimedOut) {
  options_.request_timeout_ms = 400;
  open();
  Client silent(door_->port());
  Client unfinished(door_->port());
  unfinished.send("say a\nsay");
  TlsClient secret(door_->port());
  ASSERT_EQ(secret.ask("say x\nsay", 2), "x\n");
  Client half(door_->port());
  half.send("\x16\x03\x01");
  Client reading = connect(4096);  // has unread answers: it is not in the middle of a request until it has read them
  reading.send("rows 3000 1000\nsay");
  EXPECT_EQ(unfinished.read(100), "a\nrequest_timed_out\n");
  EXPECT_EQ(secret.read(100), "request_timed_out\n");
  EXPECT_TRUE(secret.peer.ended());
  EXPECT_TRUE(half.closed());
  const std::string answer = rows_text(3'000, 1'000);
  EXPECT_TRUE(reading.read(answer.size()) == answer);
  reading.send(" x\n");
  EXPECT_EQ(reading.read(2), "x\n");
  EXPECT_EQ(silent.ask("say x\n", 2), "x\n") << "nothing was begun";
  EXPECT_EQ(count(Counter::connections_timed_out), 3u);
  EXPECT_EQ(count(Failure::request_timed_out), 2u);
  EXPECT_EQ(count(Counter::tls_handshakes_failed), 1u);
}

TEST_F(TlsDoorTest, DribblingDoesNotPutOffTheTimeoutAndFinishingDoes) {
  options_.request_timeout_ms = 500;
  open();
  Client steady(door_->port());
  std::atomic<bool> done{false};
  // Whole requests are finished again and again, but at every moment there is an unfinished one.
  std::thread sender([&] {
    steady.send("say ");
    while (!done) {
      steady.send("x\nsay ");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    steady.send("end\n");
  });
  Client dribbling(door_->port());
  const int64_t begin = clock_ms();
  while (clock_ms() - begin < deadline_ms && dribbling.send("a") && dribbling.read(1, 5).empty()) continue;
  const int64_t took = clock_ms() - begin;
  EXPECT_GE(took, 450);
  EXPECT_LT(took, 5'000);
  done = true;
  sender.join();
  std::string all;
  while (!all.ends_with("end\n")) {
    const std::string more = steady.read(1);
    ASSERT_FALSE(more.empty());
    all += more;
  }
}

TEST_F(TlsDoorTest, NewClientsGetNewCertificates) {
  open();
  TlsClient before(door_->port());
  ASSERT_EQ(before.peer.step(), 1);
  EXPECT_EQ(before.peer.server_name(), "first");
  for (const char *const name : {"second", "third"}) {
    certificate_.replace(name);
    ++generation;
    TlsClient after(door_->port());  // the next client
    ASSERT_EQ(after.peer.step(), 1);
    EXPECT_EQ(after.peer.server_name(), name);
    EXPECT_EQ(before.ask("say x\n", 2), "x\n");
  }
}

TEST_F(TlsDoorTest, StopsWithHandshakesUnderWay) {
  open();
  Client half(door_->port());
  half.send("\x16\x03\x01");
  TlsClient silent(door_->port());
  ASSERT_EQ(silent.ask("say x\n", 2), "x\n");
  silent.peer.send("rows 100000 1000\n");
  EXPECT_TRUE(eventually([&] { return engine_.runs_slow > 0; }));
  EXPECT_LT(stop_ms(), soon_ms);
  EXPECT_TRUE(half.closed());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(TlsDoorTest, IdleEncryptedConnectionsAndTheirEndsLeaveNothing) {
  open();
  const auto storm = [&](int count) {
    for (int i = 0; i < count; ++i) {
      TlsClient client(door_->port());
      if (i % 3 != 0) {
        EXPECT_EQ(client.ask("say x\n", 2), "x\n");
      }
      Client half(door_->port());
      half.send(std::string_view("\x16\x03\x01\x02\x00\x01", static_cast<size_t>(i % 6)));
    }
    return eventually([&] { return door_->connections() == 0; });
  };
  ASSERT_TRUE(storm(100));
  const size_t before = mallinfo2().uordblks;
  ASSERT_TRUE(storm(500));
  EXPECT_LT(mallinfo2().uordblks, before + (size_t{256} << 10));
}
#endif

}  // namespace
}  // namespace postern::door
