// handshake.h: Handshake, the client's half of a MySQL connection's beginning, without a connection.
//
// Owned by one login and used on its thread. Free of server headers. Passwords are written nowhere but into replies,
// which are overwritten when the object dies.
//
//   Handshake handshake("ann", "secret");
//   handshake.hear(what the server sends);
//   Bytes reply = handshake.reply();
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::mariadb {

class Handshake {
 public:
  /// Both outlive the handshake.
  Handshake(Bytes user, Bytes password) : user_(user), password_(password) {}
  ~Handshake();
  Handshake(const Handshake &) = delete;
  Handshake &operator=(const Handshake &) = delete;

  /// As another user, who outlives it, too. Before the first reply.
  void come_as(Bytes user) { user_ = user; }
  /// Bytes from the server, in pieces of any size.
  void hear(Bytes bytes) { heard_.append(bytes); }
  /// Takes up to `size` bytes for the server; 0 if there is nothing more to say, which the server takes for a lost
  /// connection.
  size_t say(char *to, size_t size);

 private:
  bool answer();
  bool greet(Bytes packet);
  bool switch_method(Bytes packet);
  bool prove(Bytes challenge, std::string &proof) const;
  void send(Bytes payload);

  Bytes user_;
  const Bytes password_;
  std::string heard_;
  std::string said_;
  size_t taken_ = 0;  // of said_
  std::string method_ = "mysql_native_password";
  uint8_t sequence_ = 0;
  int packets_ = 0;
};

}  // namespace postern::mariadb
