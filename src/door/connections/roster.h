// roster.h: Roster, all connections of a door, for people; and Listed, the row of one of them.
//
// A connection's owner notes; any thread reads, and ends it. Notes are atomics with one writer (relaxed: each is true
// by itself). The roster's mutex is a leaf. It is taken when a connection comes and goes, when it learns its account,
// and by readers, never for a request.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "contract/op.h"
#include "contract/server_session.h"

namespace postern::door {

/// The work or wait of a connection.
enum class Doing : uint8_t {
#define DOING(name, words) name,
#include "door/connections/doing.def"
#undef DOING
};
/// A connection's row.
const char *words_of(Doing doing);
/// The kind of its last request; empty before the first one.
const char *words_of(Verb verb);

/// A connection as it was at some time.
struct ConnectionNotes {
  uint64_t id = 0;
  std::string peer;     ///< its address and port, or "localhost" through a unix socket
  std::string account;  ///< user@host; empty: none
  int64_t begun_ms = 0;
  int64_t active_ms = 0;  ///< when it last finished a request, or took bytes of a reply
  Doing doing = Doing::idle;
  bool asked = false;        ///< it has made a request
  Verb verb = Verb::answer;  ///< the last one's
  bool tls = false;
  uint64_t requests = 0;
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_buffered = 0;
  uint32_t open_indexes = 0;
};

class Roster;

/// The other end of a socket, as the kernel has it: a text would take twice the room. An address of IPv6 has memory of
/// its own.
class PeerAddress {
 public:
  PeerAddress() = default;
  PeerAddress(const PeerAddress &) = delete;
  PeerAddress &operator=(const PeerAddress &) = delete;
  ~PeerAddress() {
    if (family_ == Family::v6) delete v6_;
  }
  /// To be called once: that of a connected socket; `local`: a unix one. Throws std::bad_alloc.
  void ask(int socket, bool local);
  PeerKind kind() const;
  /// As the server writes those of its clients. Throws std::bad_alloc.
  std::string text() const;

 private:
  enum class Family : uint8_t { unknown, unix_socket, v4, v6 };
  using Bytes4 = std::array<uint8_t, 4>;
  using Bytes16 = std::array<uint8_t, 16>;

  union {
    Bytes4 v4_;
    const Bytes16 *v6_ = nullptr;
  };
  uint16_t port_ = 0;
  Family family_ = Family::unknown;
};

/// Owned by its connection, and small: there are tens of thousands.
class Listed {
 public:
  Listed() = default;
  Listed(const Listed &) = delete;
  Listed &operator=(const Listed &) = delete;
  ~Listed() { leave(); }

  /// Others see it from here on. `socket` stays open until leave(), unless it is the server's (`hosted`).
  void enter(Roster &roster, uint64_t id, int socket, bool local, bool hosted, int64_t now_ms);
  /// Nobody sees it any more. Before its socket is closed.
  void leave();

  // Its owner's notes.
  void note_doing(Doing doing) { put(doing_, doing); }
  void note_active(int64_t now_ms) { put(active_ms_, now_ms); }
  void note_tls(bool tls) { put(tls_, tls); }
  void note_buffered(uint64_t bytes) { put(buffered_, static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX))); }
  void note_received(uint64_t bytes) { put(received_, received_.load(std::memory_order_relaxed) + bytes); }
  void note_sent(uint64_t bytes) { put(sent_, sent_.load(std::memory_order_relaxed) + bytes); }
  void note_requests(uint64_t count, Verb last) {
    put(requests_, requests_.load(std::memory_order_relaxed) + count);
    put(verb_, last);
  }
  void note_open_indexes(uint32_t count) { put(open_indexes_, count); }
  /// `id`: of its session of the server; 0: it stays. Throws std::bad_alloc.
  void note_account(std::string account, uint64_t id = 0);
  // For its owner.
  uint64_t id() const { return id_; }
  std::string peer() const { return peer_.text(); }
  PeerKind peer_kind() const { return peer_.kind(); }
  Bytes account() const { return account_ != nullptr ? Bytes(*account_) : Bytes(); }
  int64_t active_ms() const { return active_ms_.load(std::memory_order_relaxed); }
  /// Whether somebody has ended it.
  bool is_ended() const { return ended_.load(std::memory_order_relaxed); }

 private:
  friend Roster;
  template <class Value>
  static void put(std::atomic<Value> &to, Value value) {
    to.store(value, std::memory_order_relaxed);
  }

  Roster *roster_ = nullptr;
  // Written under the roster's mutex, by the owner alone.
  Listed *older_ = nullptr;
  Listed *newer_ = nullptr;
  uint64_t id_ = 0;
  std::unique_ptr<const std::string> account_;  // nullptr: none

  std::atomic<int64_t> active_ms_{0};
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> received_{0};
  std::atomic<uint64_t> sent_{0};
  std::atomic<uint32_t> buffered_{0};
  std::atomic<uint32_t> open_indexes_{0};
  uint32_t begun_s_ = 0;
  int socket_ = -1;
  [[no_unique_address]] PeerAddress peer_;
  bool hosted_ = false;
  std::atomic<bool> ended_{false};
  std::atomic<Doing> doing_{Doing::idle};
  std::atomic<Verb> verb_{Verb::answer};
  std::atomic<bool> tls_{false};
};

/// What became of a wish to end a connection.
enum class Ended : uint8_t {
  unknown,  ///< there is none of this number
  ended,    ///< its client sees the end of the connection; earlier requests may still be carried out
  session,  ///< it is a session of the server: KILL ends it
};

/// Shared by a door and its connections, some of which may outlive it: it goes with the last of them.
class Roster {
 public:
  struct Abandon {
    void operator()(Roster *roster) const { roster->abandon(); }
  };
  /// The door's.
  using Owner = std::unique_ptr<Roster, Abandon>;
  static Owner make() { return Owner(new Roster()); }

  /// In the order in which they came. Throws std::bad_alloc.
  std::vector<ConnectionNotes> all() const;
  Ended end(uint64_t id);
  /// What end() would say. Ends nothing.
  Ended would_end(uint64_t id) const;

 private:
  friend Listed;
  Roster() = default;
  ~Roster() = default;
  void abandon();
  Listed *find(uint64_t id) const;

  mutable std::mutex mutex_;
  Listed *oldest_ = nullptr;
  Listed *newest_ = nullptr;
  size_t count_ = 0;
  bool abandoned_ = false;  // the door is gone
};

}  // namespace postern::door
