#include "door/connections/roster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <utility>

namespace postern::door {

void PeerAddress::ask(int socket, bool local) {
  if (local) {
    family_ = Family::unix_socket;
    return;
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0) return;
  const auto &v6 = reinterpret_cast<const sockaddr_in6 &>(address);
  const auto &v4 = reinterpret_cast<const sockaddr_in &>(address);
  port_ = ntohs(v4.sin_port);  // where an IPv6 address has it, too
  switch (address.ss_family) {
    case AF_INET:
      v4_ = std::bit_cast<Bytes4>(v4.sin_addr);
      family_ = Family::v4;
      return;
    case AF_INET6:
      v6_ = new Bytes16(std::bit_cast<Bytes16>(v6.sin6_addr));
      family_ = Family::v6;
      return;
    default: family_ = Family::unix_socket;
  }
}

PeerKind PeerAddress::kind() const {
  switch (family_) {
    case Family::unix_socket: return PeerKind::local;
    case Family::v4:
      return std::bit_cast<uint32_t>(v4_) == htonl(INADDR_LOOPBACK) ? PeerKind::loopback : PeerKind::remote;
    case Family::v6: return std::bit_cast<Bytes16>(in6addr_loopback) == *v6_ ? PeerKind::loopback : PeerKind::remote;
    case Family::unknown: break;
  }
  return PeerKind::remote;
}

std::string PeerAddress::text() const {
  if (family_ == Family::unknown) return {};
  if (family_ == Family::unix_socket) return "localhost";
  char text[INET6_ADDRSTRLEN];
  const char *const told = family_ == Family::v4 ? inet_ntop(AF_INET, v4_.data(), text, sizeof text)
                                                 : inet_ntop(AF_INET6, v6_->data(), text, sizeof text);
  if (told == nullptr) return {};
  return std::string(text) + ":" + std::to_string(port_);
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

void Listed::enter(Roster &roster, uint64_t id, int socket, bool local, bool hosted, int64_t now_ms) {
  peer_.ask(socket, local);
  id_ = id;
  socket_ = socket;
  hosted_ = hosted;
  begun_s_ = static_cast<uint32_t>(now_ms / 1000);
  note_active(now_ms);
  note_doing(Doing::beginning);
  roster_ = &roster;
  const std::lock_guard guard(roster_->mutex_);
  older_ = roster_->newest_;
  (older_ != nullptr ? older_->newer_ : roster_->oldest_) = this;
  roster_->newest_ = this;
  ++roster_->count_;
}

void Listed::leave() {
  if (roster_ == nullptr) return;
  bool last = false;
  {
    const std::lock_guard guard(roster_->mutex_);
    (older_ != nullptr ? older_->newer_ : roster_->oldest_) = newer_;
    (newer_ != nullptr ? newer_->older_ : roster_->newest_) = older_;
    last = --roster_->count_ == 0 && roster_->abandoned_;
  }
  if (last) delete roster_;
  roster_ = nullptr;
}

void Listed::note_account(std::string account, uint64_t id) {
  if (roster_ == nullptr) return;
  auto noted = account.empty() ? nullptr : std::make_unique<const std::string>(std::move(account));
  const std::lock_guard guard(roster_->mutex_);
  account_.swap(noted);
  if (id != 0) id_ = id;
}

void Roster::abandon() {
  {
    const std::lock_guard guard(mutex_);
    abandoned_ = true;
    if (count_ != 0) return;
  }
  delete this;
}

std::vector<ConnectionNotes> Roster::all() const {
  std::vector<ConnectionNotes> told;
  const std::lock_guard guard(mutex_);
  told.reserve(count_);
  constexpr auto relaxed = std::memory_order_relaxed;
  for (const Listed *one = oldest_; one != nullptr; one = one->newer_) {
    const uint64_t requests = one->requests_.load(relaxed);
    told.push_back({.id = one->id_,
                    .peer = one->peer(),
                    .account = std::string(one->account()),
                    .begun_ms = int64_t{one->begun_s_} * 1000,
                    .active_ms = one->active_ms(),
                    .doing = one->doing_.load(relaxed),
                    .asked = requests != 0,
                    .verb = one->verb_.load(relaxed),
                    .tls = one->tls_.load(relaxed),
                    .requests = requests,
                    .bytes_received = one->received_.load(relaxed),
                    .bytes_sent = one->sent_.load(relaxed),
                    .bytes_buffered = one->buffered_.load(relaxed),
                    .open_indexes = one->open_indexes_.load(relaxed)});
  }
  return told;
}

/// With the mutex held.
Listed *Roster::find(uint64_t id) const {
  Listed *one = oldest_;
  while (one != nullptr && one->id_ != id) one = one->newer_;
  return one;
}

Ended Roster::would_end(uint64_t id) const {
  const std::lock_guard guard(mutex_);
  const Listed *const one = find(id);
  if (one == nullptr) return Ended::unknown;
  return one->hosted_ ? Ended::session : Ended::ended;
}

/// Its owner sees that the socket has ended, wherever the connection is, as if the client had gone.
Ended Roster::end(uint64_t id) {
  const std::lock_guard guard(mutex_);
  Listed *const one = find(id);
  if (one == nullptr) return Ended::unknown;
  if (one->hosted_) return Ended::session;
  one->ended_.store(true, std::memory_order_relaxed);
  ::shutdown(one->socket_, SHUT_RDWR);
  return Ended::ended;
}

}  // namespace postern::door
