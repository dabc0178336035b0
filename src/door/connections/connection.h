// connection.h: one client, from accept to close.
//
// A connection is in one phase at a time:
//
//              the first byte             the peer sends         no request
//              is plain                   no more                is left                all sent
//   sniffing --------------------> open ---------------> ended -------------> closing ----------> dead
//      |                            ^ |                                          ^
//      | is TLS's                   | |  its session, or a refusal, closes it    |
//      v                            | +------------------------------------------+
//   queued ----> handshaking -------+
//      others are done       it is done
//
// An open connection with a sleeping session is asleep, until it is woken and open again. A client that ends its
// sending then is gone.
//
// Any phase ends as dead when the connection fails. A peer may end, or be refused, before its first byte, too.
// Where the protocol begins TLS when a client asks for it, a connection begins as open:
//
//   open ----------------------> leaving_clear ------------------------> handshaking, or queued: as above
//         its session says               all is sent that was
//         start_tls                      answered in the clear
//
// | phase       | receives | parses | sends     | a refusal                  | in time, else closed        |
// |-------------|----------|--------|-----------|----------------------------|-----------------------------|
// | sniffing    | yes      | no     | nothing   | an error, and it closes    | idle timeout                |
// | queued      | no       | no     | nothing   | no error: it dies          | request timeout             |
// | handshaking | yes      | no     | nothing   | no error: it dies          | request timeout             |
// | open        | yes      | yes    | yes       | an error, and it closes    | request or idle timeout     |
// | asleep      | no       | no     | yes       | an error, and it closes    | when it wakes; see below    |
// | leaving...  | no       | no     | yes       | an error, and it closes    | idle timeout                |
// | ended       | no       | yes    | yes       | an error, and it closes    | request or idle timeout     |
// | closing     | no       | no     | yes       | an error, and it closes    | idle timeout                |
// | dead        | no       | no     | no        | comes too late             | deleted when the turn ends  |
//
// A sleeping or listening connection with unsent replies is closed by the idle timeout, and by no other.
// Without a certificate a connection begins as open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/descriptors.h"
#include "base/input.h"
#include "base/limits.h"
#include "base/output.h"
#include "contract/session.h"
#include "door/connections/put_off.h"
#include "door/connections/roster.h"
#include "door/connections/sleepers.h"
#include "net/any_channel.h"
#include "net/poller.h"

namespace postern::door {

enum class Phase : uint8_t {
  sniffing,       ///< no byte has come; the first one will show whether the client speaks TLS
  handshaking,    ///< TLS is being negotiated
  open,           ///< requests are received, parsed and answered
  asleep,         ///< its session waits for other clients
  queued,         ///< it begins TLS when others have finished their handshakes
  leaving_clear,  ///< it asked for TLS: answers in the clear are sent first
  ended,          ///< the peer sends no more; earlier requests are still parsed and answered
  closing,        ///< no more is parsed; closed once everything is sent
  dead,           ///< closed when the turn ends
};

/// Whether a connection may go from one phase to another: the arrows of the picture above.
constexpr bool may_become(Phase from, Phase to) {
  switch (to) {
    case Phase::sniffing: return false;
    case Phase::queued: return from == Phase::sniffing || from == Phase::leaving_clear;
    case Phase::handshaking: return from == Phase::sniffing || from == Phase::queued || from == Phase::leaving_clear;
    case Phase::leaving_clear: return from == Phase::open;
    case Phase::open: return from == Phase::sniffing || from == Phase::handshaking || from == Phase::asleep;
    case Phase::asleep: return from == Phase::open;
    case Phase::ended: return from == Phase::sniffing || from == Phase::handshaking || from == Phase::open;
    case Phase::closing: return from != Phase::dead && from != Phase::queued && from != Phase::handshaking;
    case Phase::dead: return true;
  }
  return false;
}

/// The lists of a worker that time its connections out.
enum class TimeoutList : uint8_t {
  idle,   ///< by when it last finished a request or its client read bytes of a reply
  begun,  ///< in the middle of a request or a handshake, by when that began
  never,  ///< asleep, or listening, with nothing to send
};

/// Owned by its worker, or by the slow lane while one of its requests runs there; touched by the owner's thread only. A
/// door has tens of thousands of these, so it holds no buffer while nothing is under way.
///
/// Except die(), the functions that change its phase are in connection.cc.
class Connection final : public Peer {
 public:
  /// The door's rules for TLS.
  struct Tls {
    bool offered = false;   ///< there is a certificate
    bool required = false;  ///< except on unix sockets
  };
  Connection(net::AnyChannel its_channel, descriptors::Held its_descriptor, Protocol &protocol, bool is_local, Tls tls,
             Sleepers &sleepers, Roster &roster);
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  // For its session: Peer.
  bool local() const override { return local_; }
  int fd() const override { return channel.fd(); }
  void *tls() const override { return channel.tls(); }
  bool may_start_tls() const override { return tls_offered_ && !has_tls_; }
  bool sends_no_more() const override { return end_told_ || phase_ == Phase::ended; }
  void note_account(std::string account) const override { listed.note_account(std::move(account)); }
  void note_open_indexes(uint32_t count) const override { listed.note_open_indexes(count); }

  Phase phase() const { return phase_; }
  bool is_dead() const { return phase_ == Phase::dead; }
  /// The phase, or that in which it died.
  Phase last_phase() const { return is_dead() ? died_in_ : phase_; }
  /// Its client speaks TLS, and understands nothing else before the handshake is done.
  bool begins_tls() const { return phase_ == Phase::handshaking || phase_ == Phase::queued; }
  bool is_asleep() const { return phase_ == Phase::asleep; }
  /// Whether a client that ends its sending now counts as gone.
  bool lives_by_sending() const { return is_asleep() && !pauses_; }
  /// Whether messages wait for its client.
  bool is_called() const { return sleeper() != nullptr && sleeper()->is_called(); }
  /// Whether its client waits for messages.
  bool listens() const { return sleeper() != nullptr && session->listens(); }
  /// Whether it receives more bytes from its client.
  bool receives() const { return phase_ <= Phase::open; }
  /// Whether the channel is a TlsChannel.
  bool has_tls() const { return has_tls_; }
  /// Whether it has to begin TLS before it is served.
  bool lacks_tls() const { return tls_required_ && !has_tls_ && !local_; }
  /// Whether nothing is left to be sent in the clear.
  bool has_left_clear() const { return phase_ == Phase::leaving_clear && !has_work() && output.pending_bytes() == 0; }

  /// Whether there may be something to do without receiving.
  bool has_work() const { return unparsed_ || aside_.has_put_off(); }
  /// Requests that were put off are served before anything else is parsed or received.
  bool has_put_off() const { return aside_.has_put_off(); }
  PutOff &put_off() { return aside_.put_off(); }
  void put_off(std::unique_ptr<PutOff> requests) { aside_.put(std::move(requests)); }
  void forget_put_off() {
    if (has_put_off()) aside_.take().reset();
  }
  std::unique_ptr<PutOff> take_put_off() { return aside_.take(); }
  /// nullptr if its session never sleeps.
  Sleeper *sleeper() const { return aside_.sleeper(); }
  /// The kernel may hold bytes that the poller will not report again.
  bool unread() const { return unread_; }
  void set_unread(bool unread) { unread_ = unread; }
  /// EPOLLRDHUP was reported and will not be again; unread bytes may still come before the end.
  void note_end_told() { end_told_ = unread_ = true; }

  /// Room for the next receive: grows while the client fills it.
  uint32_t receive_bytes() const { return std::max<uint32_t>(receive_bytes_, limits::block_bytes_min / 4); }

  /// Events that the poller reports once when bytes or their end come, and not again in each turn until they are
  /// received.
  static constexpr uint32_t told_once = net::Poller::readable | net::Poller::ended | net::Poller::once_each;
  /// The events to watch for while the connection receives and has nothing to send.
  uint32_t events_to_receive() const { return has_tls_ ? uint32_t{net::Poller::readable} : told_once; }
  /// The events to watch for now.
  uint32_t events_wanted() const;

  /// Updates its row in the roster, at the end of its turn.
  void note_doing() const;

  // Transitions.

  /// Called when its worker gets it for the first time.
  void begin();
  /// The server session that the connection owns, or nullptr.
  ServerSession *hosted() const { return session->server_session(); }
  /// The server owns the socket from now on and lends it to `lent`; or TLS has begun on the lent socket.
  void borrow(std::unique_ptr<net::Channel> lent);
  /// All requests of a server session are answered: whether work is left is known without asking the session again.
  void note_served();
  /// Whether its client has left or sends no more.
  bool peer_has_ended() const;
  /// The door answers an error and closes it; the peer may go on sending.
  void note_refused() { is_refused_ = true; }
  /// Whether bytes may wait where no poller sees them: in a TLS session that the server reads from, too.
  bool may_hide_bytes() const { return unread_ && has_tls_ && hosted() != nullptr && !has_work(); }
  /// The result of a receive, other than no_memory.
  void note_received(const net::Transfer &got);
  void first_byte_is_plain() { become_open(); }
  /// It has to wait for other handshakes. Received bytes stay unparsed.
  void queue_for_handshake();
  /// Replaces the channel by one that speaks TLS, which takes the received bytes.
  void begin_handshake(net::AnyChannel tls);
  void finish_handshake() { become_open(); }
  /// Applies the result of Session::collect().
  void note_collected(Collected collected);
  /// Its session continues, whether or not anything has come.
  void wake_up() {
    become(Phase::open);
    unparsed_ = true;
  }
  /// Nothing more is parsed or received; received bytes are forgotten, and deferred requests are still answered.
  void forget_unparsed();
  void close_when_sent();
  /// The worker has it again, from the slow lane or an inbox. `all_done`: no parsed request is left.
  void come_home(bool all_done);
  /// Whether its session has been opened; if not, it is new.
  bool session_is_open() const { return session_is_open_; }
  /// Called when everything that could be sent is sent: the last phases end by themselves.
  void settle_phase() {
    if (phase_ != Phase::open || output.broken()) settle_last_phases();
  }
  void die() {
    if (is_dead()) return;
    died_in_ = phase_;
    phase_ = Phase::dead;
  }

  /// There are tens of thousands of them, close together.
  static void *operator new(size_t bytes);
  static void operator delete(void *connection, size_t bytes) noexcept;

  // In an order that leaves no gaps: members without addresses of their own end in bytes that the next ones use.
  descriptors::Held descriptor;  ///< counts the channel's descriptor; returned after it, or left to the server
  uint32_t clock_place = 0;      ///< its place in a SilenceClock, from 1; 0: none
  [[no_unique_address]] net::AnyChannel channel;
  uint32_t armed = 0;  ///< the poller's current events
  Input input;
  [[no_unique_address]] Output output;
  // The lists of its worker that contain it.
  TimeoutList timeout_list : 6 = TimeoutList::idle;
  bool in_this_turn : 1 = false;  ///< it may be in both
  bool in_next_turn : 1 = false;
  /// The write lane has its ops and its output, or a job that is served on the worker's thread has them; the worker
  /// still watches its socket.
  bool ops_are_lent : 1 = false;
  /// The same, but the statement pool has it: it comes back through the inbox.
  bool is_served_away : 1 = false;

 private:
  [[no_unique_address]] Aside aside_;  // outlives the session
  bool unparsed_ = false;              // the input may contain another complete request
  Phase phase_;
  Phase died_in_ = Phase::dead;
  // Each has a byte of its own: the worker notes the first two, and another thread the third, at the same time.
  bool unread_ = false;
  bool end_told_ = false;
  bool has_tls_ = false;
  bool waits_ = false;       // its session continues when its collected ops are settled
  bool pauses_ : 1 = false;  // it sleeps and owes its client an answer
  bool session_is_open_ : 1 = false;
  bool is_refused_ : 1 = false;
  const bool local_ : 1;
  const bool tls_offered_ : 1;
  const bool tls_required_ : 1;
  uint16_t receive_bytes_ = 0;

 public:
  uint32_t last_run = 0;  ///< the worker's number of the last shared run of its writes
  std::unique_ptr<Session> session;

  // Neighbours in the worker's Timeouts, which are ordered by when they were active, or in Arrivals.
  Connection *older = nullptr;
  Connection *newer = nullptr;

  /// Its row in the roster; after the channel, because it may shut down its socket.
  mutable Listed listed;

 private:
  void become(Phase phase);
  void become_open();
  void let_session_open();
  bool is_greeted(ServerSession &server);
  void settle_last_phases();
};
static_assert(sizeof(Connection) <= 120);

}  // namespace postern::door
