#include "redis/clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>

#include "redis/messages/subscriptions.h"

namespace postern::redis {
namespace {

/// As Redis prints it: 127.0.0.1:6379, [::1]:6379, or a placeholder for a unix socket.
std::string print_address(const sockaddr_storage &address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto &known = reinterpret_cast<const sockaddr_in &>(address);
    inet_ntop(AF_INET, &known.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(known.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto &known = reinterpret_cast<const sockaddr_in6 &>(address);
    inet_ntop(AF_INET6, &known.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(known.sin6_port));
  }
  return "unix:0";
}

using AskForName = int (*)(int, sockaddr *, socklen_t *);

std::string address_of(int fd, AskForName ask) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (fd < 0 || ask(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0) return "?:0";
  return print_address(address);
}

}  // namespace

std::string Client::address() const {
  const std::lock_guard guard(all_.mutex_);
  return address_of(fd_, ::getpeername);
}

void Client::begin(const Peer &peer, int64_t now_ms) {
  const std::lock_guard guard(all_.mutex_);
  if (id_ != 0) return;
  id_ = ++all_.last_id_;
  fd_ = peer.fd();
  begun_ms_ = now_ms;
  active_ms_ = now_ms;
  older_ = all_.newest_;
  (older_ != nullptr ? older_->newer_ : all_.oldest_) = this;
  all_.newest_ = this;
}

Client::~Client() {
  if (id_ == 0) return;
  const std::lock_guard guard(all_.mutex_);
  (older_ != nullptr ? older_->newer_ : all_.oldest_) = newer_;
  (newer_ != nullptr ? newer_->older_ : all_.newest_) = older_;
}

std::string Client::name() const {
  const std::lock_guard guard(all_.mutex_);
  return name_;
}

void Client::set(std::string &text, Bytes to) {
  const std::lock_guard guard(all_.mutex_);
  text = to;
}

void Client::set_name(Bytes name) {
  set(name_, name);
}

std::string Client::user() const {
  const std::lock_guard guard(all_.mutex_);
  return user_;
}

void Client::set_user(Bytes user) {
  set(user_, user);
}

std::string Client::line(int64_t now_ms) const {
  const std::lock_guard guard(all_.mutex_);
  return line_locked(now_ms);
}

std::string Client::line_locked(int64_t now_ms) const {
  const Command *const command = last_command_.load(std::memory_order_relaxed);
  const int32_t queued = queued_.load(std::memory_order_relaxed);
  std::string text = "id=" + std::to_string(id_);
  text += " addr=" + address_of(fd_, ::getpeername) + " laddr=" + address_of(fd_, ::getsockname);
  text += " fd=" + std::to_string(fd_) + " name=" + name_;
  text += " age=" + std::to_string((now_ms - begun_ms_) / 1000);
  text += " idle=" + std::to_string((now_ms - active_ms_.load(std::memory_order_relaxed)) / 1000);
  std::string flags = monitors_.load(std::memory_order_relaxed) ? "O" : "";
  if (is_subscribed()) flags += "P";
  if (queued >= 0) flags += "x";
  if (blocked_.load(std::memory_order_relaxed)) flags += "b";
  text += " flags=" + (flags.empty() ? "N" : flags);
  const auto number = [](const std::atomic<uint32_t> &count) {
    return std::to_string(count.load(std::memory_order_relaxed));
  };
  text += " db=" + std::to_string(database()) + " sub=" + number(channels_) + " psub=" + number(patterns_);
  text += " ssub=" + number(shards_) + " multi=" + std::to_string(queued);
  const size_t unparsed = unparsed_bytes_.load(std::memory_order_relaxed);
  const size_t queued_bytes = queued_bytes_.load(std::memory_order_relaxed);
  text += " qbuf=" + std::to_string(unparsed) + " qbuf-free=0 argv-mem=0 multi-mem=" + std::to_string(queued_bytes);
  text += " rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=" + std::to_string(unparsed + queued_bytes) + " events=r cmd=";
  text += command != nullptr ? command->name : Bytes("NULL");
  text += " user=" + (user_.empty() ? std::string("default") : user_) + " redir=-1 resp=";
  text += resp() == Resp::three ? '3' : '2';
  text += " lib-name=" + library_ + " lib-ver=" + library_version_;
  return text;
}

void Client::note_subscriptions(const Subscriber &subscriber) {
  const auto count = [&](ChannelKind kind) { return static_cast<uint32_t>(subscriber.names(kind).size()); };
  channels_.store(count(ChannelKind::channel), std::memory_order_relaxed);
  patterns_.store(count(ChannelKind::pattern), std::memory_order_relaxed);
  shards_.store(count(ChannelKind::shard), std::memory_order_relaxed);
  monitors_.store(subscriber.monitors(), std::memory_order_relaxed);
}

bool Client::passes(const ClientFilter &filter) const {
  if (killed()) return false;
  if (filter.id != 0 && filter.id != id_) return false;
  if (filter.of != ClientFilter::Of::any && is_subscribed() != (filter.of == ClientFilter::Of::pubsub)) return false;
  if (!filter.user.empty() && filter.user != (user_.empty() ? Bytes("default") : Bytes(user_))) return false;
  if (!filter.address.empty() && filter.address != address_of(fd_, ::getpeername)) return false;
  return filter.local_address.empty() || filter.local_address == address_of(fd_, ::getsockname);
}

std::string Clients::lines(Bytes user, const ClientFilter &filter, int64_t now_ms) const {
  const std::lock_guard guard(mutex_);
  std::string text;
  for (const Client *client = oldest_; client != nullptr; client = client->newer_) {
    if (client->user_ != user || !client->passes(filter)) continue;
    text += client->line_locked(now_ms) + "\n";
  }
  return text;
}

bool Clients::is_others(Bytes user, uint64_t id) const {
  const std::lock_guard guard(mutex_);
  const Client *client = oldest_;
  while (client != nullptr && client->id_ != id) client = client->newer_;
  return client != nullptr && client->user_ != user;
}

void Client::end() {
  killed_.store(true, std::memory_order_relaxed);
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

// The client's worker sees the end of its socket, as if the client had gone. A session dies before its socket is
// closed, so the descriptor is still its own here.
Killed Clients::kill(const Client &asks, const ClientFilter &filter, bool spares_self) {
  const std::lock_guard guard(mutex_);
  Killed told;
  for (Client *client = oldest_; client != nullptr; client = client->newer_) {
    if (!client->passes(filter) || (spares_self && client == &asks)) continue;
    if (client->user_ != asks.user_) {
      ++told.denied;
      continue;
    }
    ++told.killed;
    if (client == &asks) told.self = true;
    else client->end();
  }
  return told;
}

}  // namespace postern::redis
