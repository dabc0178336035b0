// connection.h: one client, from accept to close.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/descriptors.h"
#include "base/input.h"
#include "base/output.h"
#include "contract/session.h"
#include "net/channel.h"

namespace postern::door {

/// Requests that were read and not answered: the output was above high water, or the batch had had enough large rows,
/// or they were in the slow lane behind one that was held up, and have come back.
struct PutOff {
  Arena::Kept arena;  ///< what the ops live in
  std::vector<Op> ops;
  int64_t busy_since_ms = -1;  ///< since when the first one finds its table held, or its row locked
};

/// Owned by its worker, or by the slow lane while a long request of it runs there; touched by the owner's thread
/// only. A door has tens of thousands of these, so it holds no buffer while nothing is under way.
struct Connection {
  /// The channel of a connection that is fresh is a plain one.
  Connection(std::unique_ptr<net::Channel> its_channel, descriptors::Held its_descriptor, Protocol &protocol,
             const Peer &peer)
      : descriptor(std::move(its_descriptor)),
        channel(std::move(its_channel)),
        session(protocol.greet(output, peer)),
        local(peer.local) {}
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  const descriptors::Held descriptor;  ///< the channel's, given back behind it
  std::unique_ptr<net::Channel> channel;
  Input input;
  Output output;
  std::unique_ptr<Session> session;
  std::unique_ptr<PutOff> put_off;  ///< before anything else is parsed or received

  /// Whether there may be something to do without receiving.
  bool has_work() const { return more || put_off != nullptr; }

  /// Whether it began with TLS and waits for others to finish their handshakes.
  bool is_queued() const { return fresh && input.unparsed_bytes() != 0; }

  // Neighbours in one of the worker's two lists, both ordered by active_ms, or in Arrivals.
  Connection *older = nullptr;
  Connection *newer = nullptr;
  int64_t active_ms = 0;  ///< when it last finished a request or took bytes of a reply; if begun, when that was

  uint32_t armed = 0;           ///< what the poller watches for
  uint32_t receive_bytes = 0;   ///< room for the next receive: grows while the client fills it
  bool more : 1 = false;        ///< the input may hold another complete request
  bool unread : 1 = false;      ///< the kernel may hold bytes of which the poller tells no more
  bool carried : 1 = false;     ///< is in the worker's list for the next turn
  bool ready : 1 = false;       ///< is in the worker's list for this turn
  bool peer_ended : 1 = false;  ///< nothing more will come
  bool closing : 1 = false;     ///< close once everything is sent
  bool dead : 1 = false;        ///< close now
  bool begun : 1 = false;       ///< is in the list of those in the middle of a request or a handshake
  bool fresh : 1 = false;       ///< its first byte will tell whether it speaks TLS
  bool tls : 1 = false;         ///< the channel is a TlsChannel
  bool greeting : 1 = false;    ///< its handshake is under way
  const bool local : 1;         ///< came through a unix socket
};
static_assert(sizeof(Connection) <= 192);

}  // namespace postern::door
