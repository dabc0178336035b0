// handshake.h: Handshake, the client's side of a MySQL login, without a socket.
//
// Owned by one login and used on its thread. Passwords are written only into replies, which are overwritten when the
// object dies.
//
//   Handshake handshake("ann", "secret", proofs);
//   handshake.hear(bytes from the server);
//   size_t size = handshake.say(room, sizeof room);  // the next bytes for the server; 0: none
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::sql {

/// A client's proofs of its password, by authentication method. nullptr: a method that the server does not have.
struct Proofs {
  std::string (*native)(Bytes scramble, Bytes password) = nullptr;  ///< mysql_native_password: 20 bytes for 20
  std::string (*ed25519)(Bytes nonce, Bytes password) = nullptr;    ///< client_ed25519: 64 bytes for 32
  std::string (*sha2)(Bytes scramble, Bytes password) = nullptr;    ///< caching_sha2_password: 32 bytes for 20
  /// Encrypts a short text with a public key (PEM, RSA). Empty: a bad key, or the text is too long.
  std::string (*seal)(Bytes key, Bytes text) = nullptr;
};

class Handshake {
 public:
  /// The connection as the server sees it. On a secure connection MySQL's methods ask for the plain password, otherwise
  /// for one encrypted with the server's key; the older method trusts only TLS.
  enum class Listeners : uint8_t { anybody, nobody_local, nobody_tls };

  /// All outlive the handshake.
  Handshake(Bytes user, Bytes password, const Proofs &proofs, Listeners listeners = Listeners::anybody)
      : user_(user), password_(password), proofs_(proofs), listeners_(listeners) {}
  ~Handshake();
  Handshake(const Handshake &) = delete;
  Handshake &operator=(const Handshake &) = delete;

  /// Logs in as another user; the name outlives it, too. Called before the first reply.
  void come_as(Bytes user) { user_ = user; }
  /// Takes bytes from the server, in pieces of any size.
  void hear(Bytes bytes) { heard_.append(bytes); }
  /// Reads up to `size` bytes for the server; 0 if there are none, which the server takes for a lost connection.
  size_t say(char *to, size_t size);

 private:
  bool answer();
  bool greet(Bytes packet);
  bool switch_method(Bytes packet);
  bool prove(Bytes challenge, std::string &proof);
  bool prove_sha2(Bytes challenge, std::string &proof);
  bool prove_sha256(Bytes challenge, std::string &proof);
  bool reveal(bool open, char key_request, std::string &proof);
  bool seal(Bytes key, std::string &proof);
  void send(Bytes payload);

  Bytes user_;
  const Bytes password_;
  const Proofs &proofs_;
  const Listeners listeners_;
  std::string heard_;
  std::string said_;
  size_t taken_ = 0;  // of said_
  std::string method_;
  std::string scramble_;     // one of MySQL's methods, once the server has asked for it
  bool awaits_key_ = false;  // the next packet is the server's public key
  uint8_t sequence_ = 0;
  int packets_ = 0;
};

}  // namespace postern::sql
