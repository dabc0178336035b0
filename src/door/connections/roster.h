// roster.h: Roster, all connections of a door as INFORMATION_SCHEMA shows them; and Listed, the row of one of them.
//
// A connection's owner writes its row; any thread may read it, and end the connection. The notes are atomics with one
// writer (relaxed: each is correct by itself). The roster's mutex is a leaf. It is taken when a connection comes and
// goes, when it learns its account, and by readers, never for a request.
//
// There are tens of thousands of rows, so they lie in blocks of the roster without links: readers visit all blocks.
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

/// The current work or wait of a connection.
enum class Doing : uint8_t {
#define DOING(name, words) name,
#include "door/connections/doing.def"
#undef DOING
};
/// A connection's row.
const char *words_of(Doing doing);
/// The kind of its last request; empty before the first one.
const char *words_of(Verb verb);

/// A copy of a connection's notes.
struct ConnectionNotes {
  uint64_t id = 0;
  std::string peer;     ///< its address and port, or "localhost" through a unix socket
  std::string account;  ///< user@host; empty: none
  int64_t begun_ms = 0;
  int64_t active_ms = 0;  ///< when it last finished a request, or read bytes of a reply
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

/// The peer address of a socket in binary form: a text would take twice the space.
struct PeerAddress {
  enum class Family : uint8_t { unknown, unix_socket, v4, v6 };
  using Bytes4 = std::array<uint8_t, 4>;
  using Bytes16 = std::array<uint8_t, 16>;

  /// The peer of a connected socket; `local`: a unix one.
  static PeerAddress of(int socket, bool local);
  PeerKind kind() const;
  /// The text that the server would show. Throws std::bad_alloc.
  std::string text() const;

  Family family = Family::unknown;
  uint16_t port = 0;
  Bytes16 bytes{};  ///< an IPv4 address uses the first four
};

/// The notes on one connection. Written by its owner; members that are not atomic, under the roster's mutex.
struct RosterRow {
  RosterRow() = default;
  RosterRow(const RosterRow &) = delete;
  RosterRow &operator=(const RosterRow &) = delete;
  ~RosterRow() {
    if (has_more) delete more;
  }

  /// Members that only some rows need.
  struct More {
    PeerAddress::Bytes16 address;
    std::string account;
  };
  PeerAddress peer() const;
  Bytes account() const { return has_more ? Bytes(more->account) : Bytes(); }

  uint64_t id = 0;  ///< 0: not visible
  std::atomic<int64_t> active_ms{0};
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> sent{0};
  union {
    More *more;                   ///< if has_more
    PeerAddress::Bytes4 address;  ///< else
    RosterRow *next = nullptr;    ///< while it is free
  };
  std::atomic<uint32_t> buffered{0};
  std::atomic<uint32_t> open_indexes{0};
  uint32_t begun_s = 0;
  int socket = -1;
  uint16_t port = 0;
  uint8_t place = 0;  ///< in its block
  PeerAddress::Family family : 4 = PeerAddress::Family::unknown;
  bool hosted : 1 = false;
  bool has_more : 1 = false;
  std::atomic<bool> ended{false};
  std::atomic<Doing> doing{Doing::idle};
  std::atomic<Verb> verb{Verb::answer};
  std::atomic<bool> tls{false};
};
static_assert(sizeof(RosterRow) == 72);

/// Owned by its connection, and small: there are tens of thousands.
class Listed {
 public:
  /// Makes a row that is not visible yet. Throws std::bad_alloc.
  explicit Listed(Roster &roster);
  ~Listed();
  Listed(const Listed &) = delete;
  Listed &operator=(const Listed &) = delete;

  /// Makes the row visible. `socket` outlives this, unless the server owns it (`hosted`). Throws std::bad_alloc.
  void enter(uint64_t id, int socket, bool local, bool hosted, int64_t now_ms);

  // Its owner's notes.
  void note_doing(Doing doing) { put(row_.doing, doing); }
  void note_active(int64_t now_ms) { put(row_.active_ms, now_ms); }
  void note_tls(bool tls) { put(row_.tls, tls); }
  void note_buffered(uint64_t bytes) {
    put(row_.buffered, static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)));
  }
  void note_received(uint64_t bytes) { put(row_.received, row_.received.load(std::memory_order_relaxed) + bytes); }
  void note_sent(uint64_t bytes) { put(row_.sent, row_.sent.load(std::memory_order_relaxed) + bytes); }
  void note_requests(uint64_t count, Verb last) {
    put(row_.requests, row_.requests.load(std::memory_order_relaxed) + count);
    put(row_.verb, last);
  }
  void note_open_indexes(uint32_t count) { put(row_.open_indexes, count); }
  /// `id`: that of its server session; 0: unchanged. Throws std::bad_alloc.
  void note_account(std::string account, uint64_t id = 0);
  // For its owner.
  uint64_t id() const { return row_.id; }
  std::string peer() const { return row_.peer().text(); }
  PeerKind peer_kind() const { return row_.peer().kind(); }
  Bytes account() const { return row_.account(); }
  int64_t active_ms() const { return row_.active_ms.load(std::memory_order_relaxed); }
  /// Whether Roster::end() was called for it.
  bool is_ended() const { return row_.ended.load(std::memory_order_relaxed); }

 private:
  template <class Value>
  static void put(std::atomic<Value> &to, Value value) {
    to.store(value, std::memory_order_relaxed);
  }

  RosterRow &row_;
};

/// The result of Roster::end().
enum class Ended : uint8_t {
  unknown,  ///< no connection has this number
  ended,    ///< its client sees the end of the connection; earlier requests may still be carried out
  session,  ///< it has a server session: KILL ends it
};

/// Shared by a door and its connections, some of which may outlive the door: deleted with the last of them.
class Roster {
 public:
  struct Abandon {
    void operator()(Roster *roster) const { roster->abandon(); }
  };
  /// The door's.
  using Owner = std::unique_ptr<Roster, Abandon>;
  static Owner make() { return Owner(new Roster()); }

  /// By number, which is the order of their arrival. Throws std::bad_alloc.
  std::vector<ConnectionNotes> all() const;
  Ended end(uint64_t id);
  /// The result that end() would have. Ends nothing.
  Ended would_end(uint64_t id) const;

 private:
  friend Listed;
  static constexpr size_t block_rows = 224;
  struct Block {
    Roster *roster;
    std::array<RosterRow, block_rows> rows;
  };

  Roster() = default;
  ~Roster() = default;
  void abandon();
  RosterRow &take_row();
  /// Deletes the roster with its last row, if the door is gone.
  static void give_back(RosterRow &row);
  static Roster &of(RosterRow &row);
  void add_block();
  /// Visits the visible rows, with the mutex held, until `visit` returns true.
  template <class Visit>
  void visit(Visit visit) const;
  RosterRow *find(uint64_t id) const;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;  // freed with the last connection, if there are many
  RosterRow *free_ = nullptr;
  size_t count_ = 0;
  bool abandoned_ = false;  // the door is gone
};

}  // namespace postern::door
