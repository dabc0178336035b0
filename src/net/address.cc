#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace postern::net {
namespace {

template <class T>
const T &as(const sockaddr_storage &storage) {
  return reinterpret_cast<const T &>(storage);
}

}  // namespace

bool Address::parse(const std::string &host, uint16_t port, Address &address, std::string &error) {
  address = Address{};
  std::string text = host.empty() ? "0.0.0.0" : host;
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  auto &v4 = reinterpret_cast<sockaddr_in &>(address.storage_);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size_ = sizeof v4;
    return true;
  }
  auto &v6 = reinterpret_cast<sockaddr_in6 &>(address.storage_);
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.size_ = sizeof v6;
    return true;
  }
  error = "'" + host + "' is not a numeric IPv4 or IPv6 address";
  return false;
}

bool Address::parse_unix(const std::string &path, Address &address, std::string &error) {
  address = Address{};
  auto &local = reinterpret_cast<sockaddr_un &>(address.storage_);
  if (path.empty() || path.size() >= sizeof local.sun_path) {
    error = "a unix socket's path must have 1 to 107 bytes: '" + path + "'";
    return false;
  }
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  address.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return true;
}

bool Address::is_loopback() const {
  switch (family()) {
    case AF_UNIX: return true;
    case AF_INET: return ntohl(as<sockaddr_in>(storage_).sin_addr.s_addr) >> 24 == 127;
    case AF_INET6: {
      const in6_addr &address = as<sockaddr_in6>(storage_).sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
    }
    default: return false;
  }
}

std::string Address::peer_network(int fd) {
  Address peer;
  peer.size_ = sizeof peer.storage_;
  if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer.storage_), &peer.size_) != 0) return "?";
  char text[INET6_ADDRSTRLEN] = "";
  switch (peer.family()) {
    case AF_UNIX: return "local";
    case AF_INET: inet_ntop(AF_INET, &as<sockaddr_in>(peer.storage_).sin_addr, text, sizeof text); return text;
    case AF_INET6: {
      in6_addr network = as<sockaddr_in6>(peer.storage_).sin6_addr;
      std::memset(network.s6_addr + 8, 0, 8);
      inet_ntop(AF_INET6, &network, text, sizeof text);
      return text;
    }
    default: return "?";
  }
}

std::string Address::print() const {
  char text[INET6_ADDRSTRLEN] = "";
  switch (family()) {
    case AF_UNIX: return as<sockaddr_un>(storage_).sun_path;
    case AF_INET:
      inet_ntop(AF_INET, &as<sockaddr_in>(storage_).sin_addr, text, sizeof text);
      return std::string(text) + ":" + std::to_string(ntohs(as<sockaddr_in>(storage_).sin_port));
    case AF_INET6:
      inet_ntop(AF_INET6, &as<sockaddr_in6>(storage_).sin6_addr, text, sizeof text);
      return "[" + std::string(text) + "]:" + std::to_string(ntohs(as<sockaddr_in6>(storage_).sin6_port));
    default: return "?";
  }
}

}  // namespace postern::net
