#include "door/connections/roster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace postern::door {

PeerAddress PeerAddress::of(int socket, bool local) {
  if (local) return {.family = Family::unix_socket};
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0) return {};
  const auto &v6 = reinterpret_cast<const sockaddr_in6 &>(address);
  const auto &v4 = reinterpret_cast<const sockaddr_in &>(address);
  PeerAddress asked{.port = ntohs(v4.sin_port)};  // at the same offset as in an IPv6 address
  switch (address.ss_family) {
    case AF_INET:
      asked.family = Family::v4;
      std::memcpy(asked.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
      break;
    case AF_INET6:
      asked.family = Family::v6;
      std::memcpy(asked.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
      break;
    default: return {.family = Family::unix_socket};
  }
  return asked;
}

PeerKind PeerAddress::kind() const {
  switch (family) {
    case Family::unix_socket: return PeerKind::local;
    case Family::v4: return bytes == Bytes16{127, 0, 0, 1} ? PeerKind::loopback : PeerKind::remote;
    case Family::v6: return bytes == std::bit_cast<Bytes16>(in6addr_loopback) ? PeerKind::loopback : PeerKind::remote;
    case Family::unknown: break;
  }
  return PeerKind::remote;
}

std::string PeerAddress::text() const {
  if (family == Family::unknown) return {};
  if (family == Family::unix_socket) return "localhost";
  char text[INET6_ADDRSTRLEN];
  if (inet_ntop(family == Family::v4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text) == nullptr) return {};
  return std::string(text) + ":" + std::to_string(port);
}

PeerAddress RosterRow::peer() const {
  PeerAddress told{.family = family, .port = port};
  if (has_more) told.bytes = more->address;
  else if (family == PeerAddress::Family::v4) std::copy(address.begin(), address.end(), told.bytes.begin());
  return told;
}

const char *words_of(Doing doing) {
  switch (doing) {
#define DOING(name, words) \
  case Doing::name:        \
    return words;
#include "door/connections/doing.def"
#undef DOING
  }
  return "";
}

const char *words_of(Verb verb) {
  switch (verb) {
    case Verb::answer: return "other";
    case Verb::open: return "open";
    case Verb::find: return "find";
    case Verb::insert: return "insert";
    case Verb::edit: return "edit";
    case Verb::lock: return "lock";
    case Verb::script: return "script";
    case Verb::login: return "login";
    case Verb::statement: return "statement";
  }
  return "";
}

Listed::Listed(Roster &roster) : row_(roster.take_row()) {}

Listed::~Listed() {
  Roster::give_back(row_);
}

void Listed::enter(uint64_t id, int socket, bool local, bool hosted, int64_t now_ms) {
  const PeerAddress peer = PeerAddress::of(socket, local);
  std::unique_ptr<RosterRow::More> more;
  if (peer.family == PeerAddress::Family::v6) more.reset(new RosterRow::More{peer.bytes, {}});
  note_active(now_ms);
  note_doing(Doing::beginning);
  const std::lock_guard guard(Roster::of(row_).mutex_);
  row_.family = peer.family;
  row_.port = peer.port;
  row_.has_more = more != nullptr;
  if (more != nullptr) row_.more = more.release();
  else row_.address = {peer.bytes[0], peer.bytes[1], peer.bytes[2], peer.bytes[3]};
  row_.socket = socket;
  row_.hosted = hosted;
  row_.begun_s = static_cast<uint32_t>(now_ms / 1000);
  row_.id = id;
}

void Listed::note_account(std::string account, uint64_t id) {
  if (row_.id == 0) return;
  std::unique_ptr<RosterRow::More> more;
  if (!account.empty() && !row_.has_more) more.reset(new RosterRow::More{row_.peer().bytes, {}});
  const std::lock_guard guard(Roster::of(row_).mutex_);
  if (more != nullptr) {
    row_.more = more.release();
    row_.has_more = true;
  }
  if (row_.has_more) row_.more->account = std::move(account);
  if (id != 0) row_.id = id;
}

RosterRow &Roster::take_row() {
  const std::lock_guard guard(mutex_);
  if (free_ == nullptr) add_block();
  RosterRow &row = *free_;
  free_ = row.next;
  ++count_;
  return row;
}

void Roster::add_block() {
  blocks_.push_back(std::make_unique<Block>());
  Block &block = *blocks_.back();
  block.roster = this;
  for (size_t place = block_rows; place-- != 0;) {
    RosterRow &row = block.rows[place];
    row.place = static_cast<uint8_t>(place);
    row.next = std::exchange(free_, &row);
  }
}

Roster &Roster::of(RosterRow &row) {
  char *const first = reinterpret_cast<char *>(&row - row.place);
  return *reinterpret_cast<Block *>(first - offsetof(Block, rows))->roster;
}

void Roster::give_back(RosterRow &row) {
  Roster &roster = of(row);
  {
    const std::lock_guard guard(roster.mutex_);
    const uint8_t place = row.place;
    std::destroy_at(&row);
    RosterRow &fresh = *std::construct_at(&row);
    fresh.place = place;
    fresh.next = std::exchange(roster.free_, &fresh);
    if (--roster.count_ != 0) return;
    if (roster.blocks_.size() > 1) {
      roster.free_ = nullptr;
      roster.blocks_.clear();
    }
    if (!roster.abandoned_) return;
  }
  delete &roster;
}

void Roster::abandon() {
  {
    const std::lock_guard guard(mutex_);
    abandoned_ = true;
    if (count_ != 0) return;
  }
  delete this;
}

template <class Visit>
void Roster::visit(Visit visit) const {
  for (const std::unique_ptr<Block> &block : blocks_)
    for (RosterRow &row : block->rows)
      if (row.id != 0 && visit(row)) return;
}

std::vector<ConnectionNotes> Roster::all() const {
  std::vector<ConnectionNotes> told;
  {
    const std::lock_guard guard(mutex_);
    told.reserve(count_);
    constexpr auto relaxed = std::memory_order_relaxed;
    visit([&](const RosterRow &one) {
      const uint64_t requests = one.requests.load(relaxed);
      told.push_back({.id = one.id,
                      .peer = one.peer().text(),
                      .account = std::string(one.account()),
                      .begun_ms = int64_t{one.begun_s} * 1000,
                      .active_ms = one.active_ms.load(relaxed),
                      .doing = one.doing.load(relaxed),
                      .asked = requests != 0,
                      .verb = one.verb.load(relaxed),
                      .tls = one.tls.load(relaxed),
                      .requests = requests,
                      .bytes_received = one.received.load(relaxed),
                      .bytes_sent = one.sent.load(relaxed),
                      .bytes_buffered = one.buffered.load(relaxed),
                      .open_indexes = one.open_indexes.load(relaxed)});
      return false;
    });
  }
  std::sort(told.begin(), told.end(), [](const auto &left, const auto &right) { return left.id < right.id; });
  return told;
}

/// With the mutex held.
RosterRow *Roster::find(uint64_t id) const {
  RosterRow *found = nullptr;
  visit([&](RosterRow &one) {
    if (one.id == id) found = &one;
    return found != nullptr;
  });
  return found;
}

Ended Roster::would_end(uint64_t id) const {
  const std::lock_guard guard(mutex_);
  const RosterRow *const one = find(id);
  if (one == nullptr) return Ended::unknown;
  return one->hosted ? Ended::session : Ended::ended;
}

/// Wherever the connection is, its owner sees the end of the socket, as if the client had gone.
Ended Roster::end(uint64_t id) {
  const std::lock_guard guard(mutex_);
  RosterRow *const one = find(id);
  if (one == nullptr) return Ended::unknown;
  if (one->hosted) return Ended::session;
  one->ended.store(true, std::memory_order_relaxed);
  ::shutdown(one->socket, SHUT_RDWR);
  return Ended::ended;
}

}  // namespace postern::door
