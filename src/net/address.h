// address.h: where a door listens.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace postern::net {

/// An IPv4, IPv6 or unix socket address. A value.
class Address {
 public:
  /// A numeric IPv4 or IPv6 address, with or without brackets; empty means every IPv4 address. Host names are not
  /// looked up: a door must listen on its configured address, whatever a name server says. False with `error` set.
  static bool parse(const std::string &host, uint16_t port, Address &address, std::string &error);
  /// A unix socket's path: at most 107 bytes, the kernel's bound.
  static bool parse_unix(const std::string &path, Address &address, std::string &error);

  /// The key under which failed logins of a connected socket are counted: the peer's IPv4 address, the /64 network of
  /// its IPv6 address, or a name for local ones.
  static std::string peer_network(int fd);

  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }
  bool is_unix() const { return family() == AF_UNIX; }
  /// Reachable from this machine only.
  bool is_loopback() const;
  /// `127.0.0.1:9998`, `[::1]:9998` or the path.
  std::string print() const;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace postern::net
