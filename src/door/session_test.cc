// Sessions that send first, that wait for an op, and that begin TLS later.
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "door/testing/tls_client.h"

namespace postern::door {
namespace {

double processor_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval &time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class SpeakingFirst : public TlsDoorTest {
 protected:
  SpeakingFirst() { protocol_.greeting = "welcome\n"; }
};

TEST_F(SpeakingFirst, IsHeardAtOnceAndNothingSpins) {
  options_.tls = nullptr;
  open();
  Client tcp(door_->port());
  EXPECT_EQ(tcp.read(8), "welcome\n");
  Client local = connect();
  EXPECT_EQ(local.read(8), "welcome\n");
  const double before = processor_seconds();
  EXPECT_EQ(local.read(1, 500), "") << "nothing more is said";
  EXPECT_LT(processor_seconds() - before, 0.25);
  EXPECT_EQ(tcp.ask("say x\n", 2), "x\n");
  EXPECT_EQ(local.ask("rows 5000 10\nsay y\n", rows_text(5'000, 10).size() + 2), rows_text(5'000, 10) + "y\n");
}

TEST_F(SpeakingFirst, ComesBeforeEarlyRequests) {
  options_.tls = nullptr;
  open();
  Client client(door_->port());
  EXPECT_EQ(client.ask("say x\nsay y\n", 12), "welcome\nx\ny\n");
  Client leaving(door_->port());
  leaving.send("say x\n");
  leaving.end_sending();
  EXPECT_EQ(leaving.read(100), "welcome\nx\n");
}

TEST_F(SpeakingFirst, WaitsForTheFirstByteWhereThatMayBeTls) {
  open();
  TlsClient secret(door_->port());
  EXPECT_EQ(secret.peer.step(), 1);
  EXPECT_EQ(secret.read(8), "welcome\n") << "behind the handshake";
  EXPECT_EQ(secret.ask("say x\n", 2), "x\n");
  Client plain(door_->port());
  EXPECT_EQ(plain.ask("say x\n", 10), "welcome\nx\n");
}

TEST_F(SpeakingFirst, IsHeardInTheClearWhereTlsIsAskedFor) {
  protocol_.tls = TlsBegins::when_asked;
  open();
  for (Client *const client : {new Client(door_->port()), new Client(options_.unix_path)}) {
    const std::unique_ptr<Client> owned(client);
    EXPECT_EQ(client->read(8), "welcome\n");
    EXPECT_EQ(client->ask("say x\n", 2), "x\n");
  }
}

TEST_F(SpeakingFirst, ReachesASlowClientWhole) {
  options_.tls = nullptr;
  options_.send_buffer = 4 << 10;
  protocol_.greeting.assign(size_t{1} << 20, 'w');
  open();
  Client slow = connect(4 << 10);
  slow.send("say x\n");
  Client other(door_->port());
  std::string said;
  while (said.size() < protocol_.greeting.size()) {
    const std::string more = slow.read(std::min<size_t>(100'000, protocol_.greeting.size() - said.size()));
    ASSERT_FALSE(more.empty());
    said += more;
  }
  EXPECT_TRUE(said == protocol_.greeting);
  EXPECT_EQ(slow.read(2), "x\n");
  Client silent = connect(4 << 10);
  EXPECT_LT(stop_ms(), soon_ms) << "nobody waits for those that do not listen";
}

// The toy protocol checks that nothing is parsed before settled().
TEST_F(DoorTest, RequestsThatWaitForAnOpAreParsedAfterIt) {
  open();
  Client client = connect();
  EXPECT_EQ(client.ask("as ann\nwho\nsay x\nas bob\nas carl\nwho\nwho\n", 25), "ok\nann\nx\nok\nok\ncarl\ncarl\n");
  const std::string bytes = "as dora\nwho\n";
  for (const char &byte : bytes) client.send({&byte, 1});
  EXPECT_EQ(client.read(8), "ok\ndora\n");
  client.send("as eve\nwho\nas fay\nwho\n");
  client.end_sending();
  EXPECT_EQ(client.read(100), "ok\neve\nok\nfay\n");
}

TEST_F(DoorTest, WaitingGoesOnThroughTheSlowLane) {
  open();
  engine_.lone_busy = true;
  Client client = connect();
  client.send("say a\nwait ann\nwho\nrows 5000 10\nwho\n");
  EXPECT_EQ(client.read(2), "a\n");
  Client other = connect();
  EXPECT_EQ(other.ask("who\n", 1), "\n");
  engine_.lone_busy = false;
  const std::string answer = "ok\nann\n" + rows_text(5'000, 10) + "ann\n";
  EXPECT_TRUE(client.read(answer.size()) == answer);
}

class AskingForTls : public TlsDoorTest {
 protected:
  AskingForTls() {
    protocol_.tls = TlsBegins::when_asked;
    protocol_.greeting = "welcome\n";
  }
  /// Up to the point where the stream switches to TLS.
  static void begin(Client &client) {
    EXPECT_EQ(client.read(8), "welcome\n");
    EXPECT_EQ(client.ask("say a\ntls\n", 8), "a\nbegin\n");
  }
};

TEST_F(AskingForTls, TheRestOfTheStreamIsTls) {
  open();
  TlsClient client(door_->port());
  begin(client.client);
  ASSERT_EQ(client.peer.step(), 1);
  const std::string answer = "b\n" + rows_text(6'000, 20) + "c\n";
  EXPECT_TRUE(client.ask("say b\nrows 6000 20\nsay c\n", answer.size()) == answer) << "and no second greeting";
  EXPECT_EQ(count(Counter::tls_connections), 1u);
  Client plain(door_->port());
  EXPECT_EQ(plain.ask("say x\n", 10), "welcome\nx\n");
}

TEST_F(AskingForTls, AnswersOfTheSlowLaneLeaveInTheClear) {
  options_.send_buffer = 8 << 10;
  open();
  TlsClient client(door_->port());
  const std::string answer = "welcome\n" + rows_text(9'000, 100) + "begin\n";
  EXPECT_TRUE(client.client.ask("rows 9000 100\ntls\n", answer.size()) == answer);
  ASSERT_EQ(client.peer.step(), 1);
  EXPECT_EQ(client.ask("say b\n", 2), "b\n");
}

// A client need not wait for an answer before it begins its handshake.
TEST_F(AskingForTls, TheHandshakeMayComeWithTheRequestForIt) {
  open();
  TlsClient client(door_->port());
  EXPECT_EQ(client.client.read(8), "welcome\n");
  // A pair of sockets captures the first flight, which is then sent in one piece with the request.
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  const net::Fd near(pair[0]), far(pair[1]);
  TlsPeer peer(near.get());
  EXPECT_EQ(peer.step(), 0);
  char flight[4'096];
  const ssize_t bytes = ::recv(far.get(), flight, sizeof flight, 0);
  ASSERT_GT(bytes, 0);
  ASSERT_TRUE(client.client.send("tls\n" + std::string(flight, static_cast<size_t>(bytes))));
  EXPECT_EQ(client.client.read(6), "begin\n");
  SSL_set_fd(peer.ssl(), client.client.fd());
  ASSERT_EQ(peer.step(), 1);
  EXPECT_EQ(peer.send("say x\n"), 6u);
  EXPECT_EQ(peer.read(2), "x\n");
}

// CVE-2011-0411: an attacker that writes into the clear part of a stream must not get bytes into the encrypted one.
TEST_F(AskingForTls, WhatCameInTheClearIsNeverTakenForTls) {
  open();
  TlsClient client(door_->port());
  EXPECT_EQ(client.client.read(8), "welcome\n");
  client.client.send("tls\nas mallory\nsay injected\n");
  EXPECT_EQ(client.client.read(6), "begin\n");
  EXPECT_EQ(client.client.read(100).find("injected"), std::string::npos);
  EXPECT_TRUE(client.client.closed());
  EXPECT_TRUE(eventually([&] { return count(Counter::tls_handshakes_failed) == 1; }));
  Client late(door_->port());
  begin(late);
  late.send("say injected\n");
  EXPECT_EQ(late.read(100).find("injected"), std::string::npos);
  EXPECT_TRUE(late.closed());
  EXPECT_TRUE(eventually([&] { return door_->connections() == 0; }));
}

TEST_F(AskingForTls, WhereItIsRequiredNothingButAnswersComesBeforeIt) {
  options_.require_tls = true;
  open();
  Client eager(door_->port());
  EXPECT_EQ(eager.ask("say a\nrows 3 10\n", 100), "welcome\ntls_required\n");
  TlsClient client(door_->port());
  begin(client.client);
  ASSERT_EQ(client.peer.step(), 1);
  EXPECT_EQ(client.ask("rows 3 10\n", rows_text(3, 10).size()), rows_text(3, 10));
  EXPECT_EQ(client.ask("tls\n", 6), "begin\n");
  EXPECT_EQ(client.read(1), "") << "it has begun already";
  Client local = connect();
  EXPECT_EQ(local.ask("rows 1 4\n", 16), "welcome\n0___end\n");
}

TEST_F(AskingForTls, WithoutACertificateTheConnectionCloses) {
  options_.tls = nullptr;
  open();
  Client client(door_->port());
  EXPECT_EQ(client.ask("tls\n", 100), "welcome\nbegin\n");
  EXPECT_TRUE(client.closed());
}

TEST_F(AskingForTls, AHandshakeThatDoesNotComeIsTimedOut) {
  options_.request_timeout_ms = 300;
  open();
  Client client(door_->port());
  begin(client);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(count(Counter::connections_timed_out), 1u);
  EXPECT_EQ(count(Counter::tls_handshakes_failed), 1u);
}

}  // namespace
}  // namespace postern::door
