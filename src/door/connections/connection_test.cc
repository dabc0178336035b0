// The phases of a connection, without sockets.
#include "door/connections/connection.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "net/any_channel.h"
#include "ping/ping.h"

namespace postern::door {
namespace {

using net::Transfer;
using Result = net::Transfer::Result;

constexpr Phase phases[] = {Phase::sniffing,      Phase::handshaking, Phase::open,    Phase::asleep, Phase::queued,
                            Phase::leaving_clear, Phase::ended,       Phase::closing, Phase::dead};

class ConnectionPhases : public ::testing::Test {
 protected:
  static net::AnyChannel channel() { return net::AnyChannel(net::Fd()); }

  Connection make(bool may_be_tls) {
    const Connection::Tls tls{.offered = may_be_tls};
    return {channel(), descriptors::Held(), protocol_, true, tls, sleepers_, *roster_};
  }

  /// Acts as a receive: bytes, and their result.
  static void receive(Connection &connection, Bytes bytes, Result result = Result::some) {
    const std::span<char> room = connection.input.room(100);
    std::copy(bytes.begin(), bytes.end(), room.begin());
    connection.input.received(bytes.size());
    connection.note_received({result, bytes.size()});
  }

  static void take_a_handshake(Connection &connection) {
    connection.begin_handshake(channel());
    EXPECT_EQ(connection.phase(), Phase::handshaking);
    EXPECT_EQ(connection.input.unparsed_bytes(), 0u) << "the channel has it";
    EXPECT_TRUE(connection.has_tls());
    EXPECT_FALSE(connection.has_work());
  }

  ping::Ping protocol_;
  net::WakeFd doorbell_;
  Sleepers sleepers_{doorbell_};
  const Roster::Owner roster_ = Roster::make();
};

TEST_F(ConnectionPhases, AreReachedFromWhereThePictureSays) {
  const std::set<std::pair<Phase, Phase>> arrows = {
      {Phase::sniffing, Phase::open},
      {Phase::sniffing, Phase::queued},
      {Phase::sniffing, Phase::handshaking},
      {Phase::sniffing, Phase::ended},
      {Phase::sniffing, Phase::closing},
      {Phase::queued, Phase::handshaking},
      {Phase::handshaking, Phase::open},
      {Phase::handshaking, Phase::ended},
      {Phase::open, Phase::ended},
      {Phase::open, Phase::asleep},
      {Phase::asleep, Phase::open},
      {Phase::asleep, Phase::closing},
      {Phase::open, Phase::closing},
      {Phase::ended, Phase::closing},
      {Phase::leaving_clear, Phase::queued},
      {Phase::leaving_clear, Phase::handshaking},
      {Phase::leaving_clear, Phase::closing},
      {Phase::open, Phase::leaving_clear},
      {Phase::closing, Phase::closing},
  };
  for (const Phase from : phases) {
    for (const Phase to : phases) {
      if (to == Phase::dead) EXPECT_TRUE(may_become(from, to)) << "anything may die";
      else EXPECT_EQ(may_become(from, to), arrows.count({from, to}) != 0) << int(from) << " to " << int(to);
    }
  }
}

TEST_F(ConnectionPhases, WithoutACertificateItIsOpenAtOnce) {
  Connection connection = make(false);
  EXPECT_EQ(connection.phase(), Phase::open);
  EXPECT_TRUE(connection.receives());
  EXPECT_FALSE(connection.has_work());
}

TEST_F(ConnectionPhases, TheFirstByteLeadsToRequestsOrToAHandshake) {
  Connection plain = make(true);
  EXPECT_EQ(plain.phase(), Phase::sniffing);
  receive(plain, "x\n");
  EXPECT_EQ(plain.phase(), Phase::sniffing) << "the worker looks at it";
  plain.first_byte_is_plain();
  EXPECT_EQ(plain.phase(), Phase::open);
  EXPECT_TRUE(plain.has_work());

  Connection waits = make(true);
  receive(waits, "\x16");
  waits.queue_for_handshake();
  waits.queue_for_handshake();
  EXPECT_EQ(waits.phase(), Phase::queued);
  EXPECT_FALSE(waits.receives() || waits.has_work());
  EXPECT_TRUE(waits.begins_tls());
  EXPECT_EQ(waits.input.unparsed_bytes(), 1u);
  take_a_handshake(waits);
  EXPECT_TRUE(waits.begins_tls());
  waits.finish_handshake();
  EXPECT_EQ(waits.phase(), Phase::open);
  EXPECT_FALSE(waits.begins_tls());
}

TEST_F(ConnectionPhases, AskingForTlsWaitsUntilTheClearHasLeft) {
  struct Asking final : Protocol {
    std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override {
      return ping_.open_session(output, peer);
    }
    TlsBegins tls_begins() const override { return TlsBegins::when_asked; }
    void refuse(Output &, Failure) override {}
    ping::Ping ping_;
  } asking;
  for (const bool offered : {false, true}) {
    Connection connection(channel(), descriptors::Held(), asking, false, {.offered = offered, .required = true},
                          sleepers_, *roster_);
    EXPECT_EQ(connection.phase(), Phase::open);
    EXPECT_TRUE(connection.lacks_tls());
    EXPECT_EQ(connection.may_start_tls(), offered);
    receive(connection, "tls\n\x16");
    connection.input.consume(4);
    connection.note_collected(Collected::start_tls);
    connection.output.put("begin");
    connection.output.release();
    if (!offered) {
      EXPECT_EQ(connection.phase(), Phase::closing);
      continue;
    }
    EXPECT_EQ(connection.phase(), Phase::leaving_clear);
    EXPECT_FALSE(connection.receives() || connection.has_work() || connection.has_left_clear());
    connection.come_home(true);
    EXPECT_FALSE(connection.has_work()) << "the rest is not for the session";
    connection.output.sent(5);
    EXPECT_TRUE(connection.has_left_clear());
    take_a_handshake(connection);
    connection.finish_handshake();
    EXPECT_FALSE(connection.lacks_tls() || connection.may_start_tls());
    connection.note_collected(Collected::start_tls);
    EXPECT_EQ(connection.phase(), Phase::closing) << "only once";
  }
}

TEST_F(ConnectionPhases, APeerThatEndsIsStillAnswered) {
  Connection connection = make(false);
  receive(connection, "a\nb\n", Result::ended);
  EXPECT_EQ(connection.phase(), Phase::ended);
  EXPECT_FALSE(connection.receives());
  connection.settle_phase();
  EXPECT_EQ(connection.phase(), Phase::ended) << "there are requests left";
  connection.note_collected(Collected::more);
  connection.settle_phase();
  EXPECT_EQ(connection.phase(), Phase::ended);
  connection.note_collected(Collected::need_more);
  connection.output.put("answer");
  connection.settle_phase();
  EXPECT_EQ(connection.phase(), Phase::closing) << "the answer has not left";
  connection.output.release();
  connection.output.sent(6);
  connection.settle_phase();
  EXPECT_TRUE(connection.is_dead());
  EXPECT_EQ(connection.last_phase(), Phase::closing);
}

TEST_F(ConnectionPhases, ClosingWaitsForDeferredRequests) {
  Connection connection = make(false);
  receive(connection, "bye\n");
  connection.note_collected(Collected::close);
  EXPECT_EQ(connection.phase(), Phase::closing);
  connection.put_off(std::make_unique<PutOff>());
  connection.settle_phase();
  EXPECT_EQ(connection.phase(), Phase::closing);
  connection.come_home(false);
  EXPECT_TRUE(connection.has_work());
  connection.forget_put_off();
  connection.come_home(true);
  EXPECT_FALSE(connection.has_work()) << "nothing more is parsed";
  connection.settle_phase();
  EXPECT_TRUE(connection.is_dead());
}

TEST_F(ConnectionPhases, WhatComesHomeIsParsedOnUnlessItCloses) {
  Connection connection = make(false);
  receive(connection, "a\nb\n");
  connection.input.consume(2);
  connection.note_collected(Collected::need_more);
  EXPECT_FALSE(connection.has_work());
  connection.come_home(true);
  EXPECT_TRUE(connection.has_work());
  connection.close_when_sent();
  connection.come_home(true);
  EXPECT_FALSE(connection.has_work());
}

TEST_F(ConnectionPhases, WatchesForUsefulEvents) {
  using net::Poller;
  Connection connection = make(false);
  EXPECT_EQ(connection.events_wanted(), Connection::told_once);
  connection.output.put("answer");
  EXPECT_EQ(connection.events_wanted(), uint32_t{Poller::readable | Poller::writable});
  connection.output.put(std::string(limits::output_high_water_bytes, 'x'));
  EXPECT_EQ(connection.events_wanted(), uint32_t{Poller::writable}) << "back-pressure";
  connection.output.rewind(0);
  receive(connection, "a\n");
  EXPECT_EQ(connection.events_wanted(), 0u) << "there is work";
  connection.note_collected(Collected::close);
  EXPECT_EQ(connection.events_wanted(), 0u);
  Connection secret = make(true);
  receive(secret, "\x16");
  secret.queue_for_handshake();
  EXPECT_EQ(secret.events_wanted(), 0u);
  take_a_handshake(secret);
  EXPECT_EQ(secret.events_wanted(), uint32_t{Poller::readable});
}

TEST_F(ConnectionPhases, ABrokenOutputAFailureAndAnyDeathAreFinal) {
  Connection broken = make(false);
  broken.output.set_broken();
  broken.settle_phase();
  EXPECT_TRUE(broken.is_dead());
  Connection failed = make(true);
  receive(failed, "", Result::failed);
  EXPECT_TRUE(failed.is_dead());
  EXPECT_EQ(failed.last_phase(), Phase::sniffing);
  failed.close_when_sent();
  failed.die();
  failed.come_home(true);
  EXPECT_TRUE(failed.is_dead());
  EXPECT_EQ(failed.last_phase(), Phase::sniffing);
  EXPECT_FALSE(failed.receives() || failed.has_work());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(ConnectionPhases, AFreshConnectionIsSmall) {
  constexpr size_t count = 1'000;
  std::vector<std::unique_ptr<Connection>> connections(count);
  const size_t before = mallinfo2().uordblks;
  for (auto &connection : connections)
    connection = std::make_unique<Connection>(channel(), descriptors::Held(), protocol_, true, Connection::Tls{},
                                              sleepers_, *roster_);
  EXPECT_LT((mallinfo2().uordblks - before) / count, 270u) << "with its session and its row";
  connections.clear();
  EXPECT_LT(mallinfo2().uordblks, before + 1'000) << "all of it has gone back";
}
#endif

}  // namespace
}  // namespace postern::door
