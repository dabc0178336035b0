#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "base/pool.h"
#include "net/tls_channel.h"
#include "net/tls_context.h"
#include "support/unit/tls.h"

namespace postern::net {
namespace {

using test::PeerOptions;
using test::TestCertificate;
using test::TlsPeer;

// A context's source is plain functions, because there is one server.
TlsFiles files;
uint64_t generation = 1;
const TlsContext::Source source{[] { return files; }, [] { return generation; }};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : certificate_("first"), context_(source) {
    files = TlsFiles{};
    files.certificate = certificate_.path();
    generation = 1;
  }

  void load() {
    std::string error;
    ASSERT_TRUE(context_.load(error)) << error;
  }
  /// A new pair: a channel here, a peer there.
  void connect(const PeerOptions &options = {}, int buffer_bytes = 0) {
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    for (const int fd : fds)
      if (buffer_bytes != 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    peer_fd_.reset(fds[1]);
    channel_ = std::make_unique<TlsChannel>(Fd(fds[0]), context_.begin(), Bytes{});
    peer_ = std::make_unique<TlsPeer>(fds[1], options);
  }
  Transfer receive() { return channel_->receive(input_, 1024); }
  /// Returns false if one side gives up.
  bool shake_hands() {
    for (int i = 0; i < 1000; ++i) {
      const int step = peer_->step();
      if (receive().result == Transfer::Result::failed || step < 0) return false;
      if (step == 1 && !channel_->greeting()) return true;
    }
    return false;
  }
  std::string received() {
    const std::span<char> bytes = input_.unparsed();
    std::string text(bytes.data(), bytes.size());
    input_.consume(bytes.size());
    input_.settle();
    return text;
  }
  void put(std::string_view text) {
    output_.put(text);
    output_.release();
  }

  const TestCertificate certificate_;
  TlsContext context_;
  Fd peer_fd_;
  std::unique_ptr<TlsChannel> channel_;
  std::unique_ptr<TlsPeer> peer_;
  Input input_;
  Output output_;
};

TEST_F(TlsTest, CarriesBothWaysInBothVersions) {
  load();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    connect({.version_min = version, .version_max = version});
    ASSERT_TRUE(shake_hands());
    EXPECT_EQ(SSL_version(peer_->ssl()), version);
    EXPECT_EQ(peer_->server_name(), "first");
    EXPECT_EQ(peer_->send("ask"), 3u);
    const Transfer got = receive();
    EXPECT_EQ(got.result, Transfer::Result::some);
    EXPECT_EQ(got.bytes, 3u);
    EXPECT_EQ(received(), "ask");
    put("answer");
    EXPECT_EQ(channel_->send(output_).bytes, 6u);
    EXPECT_EQ(peer_->read(), "answer");
    EXPECT_EQ(receive().result, Transfer::Result::would_block);
  }
}

TEST_F(TlsTest, RefusesOldVersions) {
  load();
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    connect({.version_min = version, .version_max = version});
    EXPECT_FALSE(shake_hands());
    EXPECT_TRUE(channel_->greeting());
    EXPECT_EQ(receive().result, Transfer::Result::failed) << "and stays so";
  }
}

TEST_F(TlsTest, AllowsOnlyTheConfiguredVersions) {
  files.version_1_3 = false;
  load();
  connect();
  ASSERT_TRUE(shake_hands());
  EXPECT_EQ(SSL_version(peer_->ssl()), TLS1_2_VERSION);
  files.version_1_3 = true;
  files.version_1_2 = false;
  load();
  connect({.version_max = TLS1_2_VERSION});
  EXPECT_FALSE(shake_hands());
  files.version_1_3 = false;
  std::string error;
  EXPECT_FALSE(context_.load(error));
  EXPECT_NE(error.find("TLS 1.2"), std::string::npos) << error;
}

TEST_F(TlsTest, AllowsOnlyTheConfiguredCiphers) {
  files.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384";
  load();
  connect({.version_max = TLS1_2_VERSION});
  ASSERT_TRUE(shake_hands());
  EXPECT_STREQ(SSL_get_cipher_name(peer_->ssl()), "ECDHE-ECDSA-AES256-GCM-SHA384");
  connect({.version_max = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"});
  EXPECT_FALSE(shake_hands());
  files.ciphers = "no-such-cipher";
  std::string error;
  EXPECT_FALSE(context_.load(error));
  EXPECT_NE(error.find("no-such-cipher"), std::string::npos) << error;
}

/// Copies at most `bytes` from one socket to another.
bool pass_on(int from, int to, size_t bytes) {
  char buffer[4096];
  const ssize_t got = ::recv(from, buffer, std::min(bytes, sizeof buffer), MSG_DONTWAIT);
  return got > 0 && ::send(to, buffer, static_cast<size_t>(got), MSG_NOSIGNAL) == got;
}

TEST_F(TlsTest, HandshakeMayComeByteByByte) {
  load();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    connect({.version_min = version, .version_max = version});
    // The peer talks to a socket whose bytes arrive one at a time.
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    const Fd peer_end(fds[0]);
    const Fd our_end(fds[1]);
    peer_ = std::make_unique<TlsPeer>(peer_end.get(), PeerOptions{.version_min = version, .version_max = version});
    for (int i = 0; i < 20'000 && (channel_->greeting() || !peer_->connected()); ++i) {
      ASSERT_GE(peer_->step(), 0);
      pass_on(our_end.get(), peer_fd_.get(), 1);
      ASSERT_NE(receive().result, Transfer::Result::failed);
      pass_on(peer_fd_.get(), our_end.get(), 1);
    }
    ASSERT_FALSE(channel_->greeting());
    ASSERT_EQ(peer_->send("0123456789"), 10u);
    std::string got;
    while (pass_on(our_end.get(), peer_fd_.get(), 1)) {
      receive();
      got += received();
    }
    EXPECT_EQ(got, "0123456789");
    peer_.reset();
  }
}

TEST_F(TlsTest, BytesThatCameBeforeTheChannelCount) {
  load();
  connect();
  ASSERT_EQ(peer_->step(), 0);
  char hello[4096];
  const ssize_t bytes = ::recv(channel_->fd(), hello, sizeof hello, 0);
  ASSERT_GT(bytes, 100);
  Fd fd = channel_->release();
  channel_ = std::make_unique<TlsChannel>(std::move(fd), context_.begin(), Bytes(hello, static_cast<size_t>(bytes)));
  EXPECT_TRUE(shake_hands());
}

// The request must not stay inside TLS, where no readable socket wakes a waiting server.
TEST_F(TlsTest, WhatCameWithTheHandshakeIsReceivedWithIt) {
  load();
  connect({.version_min = TLS1_3_VERSION});
  ASSERT_EQ(peer_->step(), 0);
  ASSERT_EQ(receive().result, Transfer::Result::would_block);
  ASSERT_EQ(peer_->step(), 1);
  ASSERT_EQ(peer_->send("early bird"), 10u);
  EXPECT_EQ(receive().bytes, 10u);
  EXPECT_FALSE(channel_->greeting());
  EXPECT_EQ(received(), "early bird");
}

TEST_F(TlsTest, OneReceiveIsOneReceiveOfManyRecords) {
  load();
  connect();
  ASSERT_TRUE(shake_hands());
  std::string sent;
  for (int i = 0; i < 100; ++i) {
    const std::string text = "request " + std::to_string(i) + "\n";
    ASSERT_EQ(peer_->send(text), text.size());
    sent += text;
  }
  EXPECT_EQ(receive().bytes, sent.size());
  EXPECT_EQ(received(), sent);
}

TEST_F(TlsTest, LargeTransfersBothWaysAtOnceThroughSmallBuffers) {
  load();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    connect({.version_min = version, .version_max = version}, 4096);
    ASSERT_TRUE(shake_hands());
    std::string text;
    for (int i = 0; text.size() < (size_t{1} << 20); ++i) text += std::to_string(i) + " ";
    put(text);
    std::string there;
    std::string here;
    size_t left = 0;
    bool blocked = false;
    for (int i = 0; i < 100'000 && (there.size() < text.size() || here.size() < text.size()); ++i) {
      const Transfer sent = channel_->send(output_);
      ASSERT_NE(sent.result, Transfer::Result::failed);
      blocked = blocked || sent.result == Transfer::Result::would_block;
      left += peer_->send(std::string_view(text).substr(left));
      ASSERT_NE(receive().result, Transfer::Result::failed);
      here += received();
      there += peer_->read();
    }
    EXPECT_TRUE(blocked);
    EXPECT_TRUE(there == text);
    EXPECT_TRUE(here == text);
    EXPECT_FALSE(channel_->wishes().writable_to_receive || channel_->wishes().readable_to_send);
  }
}

TEST_F(TlsTest, BlockedOutputMayGrowAndMove) {
  load();
  connect({}, 4096);
  ASSERT_TRUE(shake_hands());
  std::string all(30'000, 'a');
  put(all);
  ASSERT_EQ(channel_->send(output_).result, Transfer::Result::would_block);
  const std::string more(200'000, 'b');
  put(more);
  all += more;
  std::string got;
  while (got.size() < all.size()) {
    ASSERT_NE(channel_->send(output_).result, Transfer::Result::failed);
    got += peer_->read();
  }
  EXPECT_TRUE(got == all);
}

// The handshake's own bytes do not fit: the channel asks to be called when the socket is writable.
TEST_F(TlsTest, HandshakeWaitsUntilItsBytesCanLeave) {
  load();
  connect({}, 4096);
  ASSERT_EQ(peer_->step(), 0);
  char junk[1024] = {};
  while (::send(channel_->fd(), junk, sizeof junk, 0) > 0) continue;
  EXPECT_EQ(receive().result, Transfer::Result::would_block);
  EXPECT_TRUE(channel_->wishes().writable_to_receive);
  EXPECT_EQ(receive().result, Transfer::Result::would_block);
  EXPECT_TRUE(channel_->wishes().writable_to_receive);
  size_t in_the_way = 0;
  for (ssize_t got; (got = ::recv(peer_fd_.get(), junk, sizeof junk, MSG_PEEK)) > 0 && junk[0] == 0;)
    in_the_way += static_cast<size_t>(::recv(peer_fd_.get(), junk, sizeof junk, 0));
  EXPECT_GT(in_the_way, 0u);
  EXPECT_TRUE(shake_hands());
  EXPECT_FALSE(channel_->wishes().writable_to_receive);
}

TEST_F(TlsTest, NothingOfAnOutputLeavesBeforeTheHandshake) {
  load();
  connect();
  put("secret");
  EXPECT_EQ(channel_->send(output_).bytes, 0u);
  char byte;
  EXPECT_LT(::recv(peer_fd_.get(), &byte, 1, 0), 0);
  ASSERT_TRUE(shake_hands());
  EXPECT_EQ(channel_->send(output_).bytes, 6u);
  EXPECT_EQ(peer_->read(), "secret");
}

TEST_F(TlsTest, EndsAreReported) {
  load();
  connect();
  ASSERT_TRUE(shake_hands());
  peer_->send("last");
  SSL_shutdown(peer_->ssl());
  const Transfer last = receive();
  EXPECT_EQ(last.result, Transfer::Result::ended);
  EXPECT_EQ(last.bytes, 4u);
  put("still heard");
  EXPECT_EQ(channel_->send(output_).bytes, 11u);
  EXPECT_EQ(peer_->read(), "still heard");
  channel_.reset();
  EXPECT_EQ(peer_->read(), "");
  EXPECT_TRUE(peer_->ended());

  connect();  // the peer closes without close_notify
  ASSERT_TRUE(shake_hands());
  peer_->send("last");
  ::shutdown(peer_fd_.get(), SHUT_WR);
  EXPECT_EQ(receive().bytes, 4u);
  EXPECT_EQ(receive().result, Transfer::Result::ended);
  peer_fd_.reset();
  put("x");
  EXPECT_EQ(channel_->send(output_).result, Transfer::Result::failed);
  channel_.reset();
}

TEST_F(TlsTest, PeerMayLeaveAnywhereInTheHandshake) {
  load();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (int steps = 0; steps < 4; ++steps) {
      connect({.version_min = version, .version_max = version});
      for (int i = 0; i < steps; ++i) {
        peer_->step();
        receive();
      }
      const bool was_greeting = channel_->greeting();
      peer_.reset();
      peer_fd_.reset();
      Transfer::Result result = receive().result;
      for (int i = 0; i < 3 && result == Transfer::Result::would_block; ++i) result = receive().result;
      // Unread bytes at the peer turn its close into a reset.
      EXPECT_TRUE(result == Transfer::Result::failed || (!was_greeting && result == Transfer::Result::ended)) << steps;
    }
  }
}

TEST_F(TlsTest, GarbageFails) {
  load();
  for (const std::string &garbage : {std::string("\x16\x03\x01\x00\x05hello", 10),
                                     std::string("\x16GET / HTTP/1.0\r\n\r\n"), std::string(20'000, '\x16')}) {
    connect();
    ASSERT_GT(::send(peer_fd_.get(), garbage.data(), garbage.size(), 0), 0);
    Transfer::Result result = Transfer::Result::would_block;
    for (int i = 0; i < 10 && result == Transfer::Result::would_block; ++i) result = receive().result;
    EXPECT_EQ(result, Transfer::Result::failed) << garbage.substr(0, 30);
    put("x");
    EXPECT_EQ(channel_->send(output_).result, Transfer::Result::failed);
    output_.sent(1);
    EXPECT_EQ(ERR_peek_error(), 0u) << "the thread's queue is the server's, too";
  }
}

TEST_F(TlsTest, RenegotiationIsRefused) {
  load();
  connect({.version_max = TLS1_2_VERSION});
  ASSERT_TRUE(shake_hands());
  ASSERT_EQ(SSL_renegotiate(peer_->ssl()), 1);
  ASSERT_EQ(peer_->step(), 0);
  EXPECT_EQ(receive().result, Transfer::Result::would_block);
  EXPECT_FALSE(channel_->greeting()) << "no second handshake";
  EXPECT_LT(peer_->step(), 0) << "OpenSSL's client gives up when it hears that";
  EXPECT_EQ(received(), "");
}

TEST_F(TlsTest, KeysMayBeUpdatedInTls13) {
  load();
  connect({.version_min = TLS1_3_VERSION});
  ASSERT_TRUE(shake_hands());
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(peer_->send("ask"), 3u);
    ASSERT_EQ(receive().bytes, 3u);
    EXPECT_EQ(received(), "ask");
    put("answer");
    ASSERT_EQ(channel_->send(output_).bytes, 6u);
    EXPECT_EQ(peer_->read(), "answer");
  }
}

TEST_F(TlsTest, SessionsAreResumed) {
  load();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    connect({.version_min = version, .version_max = version});
    ASSERT_TRUE(shake_hands());
    EXPECT_FALSE(channel_->resumed());
    put("x");
    channel_->send(output_);
    EXPECT_EQ(peer_->read(), "x");  // reads the ticket of TLS 1.3, too
    const std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(SSL_get1_session(peer_->ssl()),
                                                                            SSL_SESSION_free);
    SSL_shutdown(peer_->ssl());
    connect({.version_min = version, .version_max = version, .session = session.get()});
    ASSERT_TRUE(shake_hands());
    EXPECT_TRUE(channel_->resumed()) << version;
    // New certificates start new sessions.
    certificate_.replace("second");
    ++generation;
    context_.refresh();
    connect({.version_min = version, .version_max = version, .session = session.get()});
    ASSERT_TRUE(shake_hands());
    EXPECT_FALSE(channel_->resumed()) << version;
  }
}

TEST_F(TlsTest, CertificatesAreReadAgainWhenTheSourceSaysSo) {
  load();
  connect();
  ASSERT_TRUE(shake_hands());
  certificate_.replace("second");
  context_.refresh();
  const auto name_of_new_connection = [&] {
    const auto before = std::make_pair(std::move(channel_), std::move(peer_));
    Fd before_fd = std::move(peer_fd_);
    connect();
    EXPECT_TRUE(shake_hands());
    return peer_->server_name();
  };
  EXPECT_EQ(name_of_new_connection(), "first") << "nobody said so";
  ++generation;
  context_.refresh();
  EXPECT_EQ(name_of_new_connection(), "second");
  certificate_.spoil();
  ++generation;
  context_.refresh();
  EXPECT_EQ(name_of_new_connection(), "second") << "the broken one is not used";
  certificate_.replace("third");
  ++generation;
  context_.refresh();
  EXPECT_EQ(name_of_new_connection(), "third");
}

TEST_F(TlsTest, CertificatesMayComeLater) {
  generation = 0;  // the source has none yet
  context_.refresh();
  EXPECT_FALSE(context_.loaded());
  EXPECT_EQ(context_.begin(), nullptr);
  generation = 7;
  context_.refresh();
  EXPECT_TRUE(context_.loaded());
  connect();
  EXPECT_TRUE(shake_hands());
}

TEST_F(TlsTest, ConnectionKeepsTheCertificateItBeganWith) {
  load();
  connect();
  ASSERT_TRUE(shake_hands());
  certificate_.replace("second");
  ++generation;
  context_.refresh();
  peer_->send("ask");
  EXPECT_EQ(receive().bytes, 3u);
  put("answer");
  channel_->send(output_);
  EXPECT_EQ(peer_->read(), "answer");
}

TEST_F(TlsTest, UnreadableFilesAreReported) {
  std::string error;
  files.certificate = "/nonexistent/certificate.pem";
  EXPECT_FALSE(context_.load(error));
  EXPECT_NE(error.find(files.certificate), std::string::npos) << error;
  EXPECT_EQ(context_.begin(), nullptr);
  TestCertificate other("other");
  files.certificate = certificate_.path();
  files.key = other.path();
  EXPECT_FALSE(context_.load(error));
  EXPECT_NE(error.find(other.path()), std::string::npos) << error;
  files.key = "";
  files.ca = "/nonexistent/ca.pem";
  EXPECT_FALSE(context_.load(error));
  EXPECT_NE(error.find(files.ca), std::string::npos) << error;
  EXPECT_EQ(ERR_peek_error(), 0u);
  files.ca = "";
  EXPECT_TRUE(context_.load(error)) << error;
  TlsChannel without(Fd(), nullptr, {});
  EXPECT_EQ(without.receive(input_, 100).result, Transfer::Result::failed);
  EXPECT_EQ(without.send(output_).result, Transfer::Result::failed);
}

TEST_F(TlsTest, ClientsCertificateIsVerifiedIfItHasOne) {
  TestCertificate authority("authority");
  files.ca = authority.path();
  load();
  connect();
  EXPECT_TRUE(shake_hands()) << "none is needed";
  for (const TestCertificate *const certificate : {&std::as_const(authority), &certificate_}) {
    connect();
    ASSERT_EQ(SSL_use_certificate_file(peer_->ssl(), certificate->path().c_str(), SSL_FILETYPE_PEM), 1);
    ASSERT_EQ(SSL_use_PrivateKey_file(peer_->ssl(), certificate->path().c_str(), SSL_FILETYPE_PEM), 1);
    EXPECT_EQ(shake_hands(), certificate == &authority);
  }
}

}  // namespace
}  // namespace postern::net
