// greeting.h: Greeting, the server's handshake packet, learnt from one that it has sent; and the user name in the
// client's answer.
//
// Only the connection id, the scramble, and the session's status differ between connections. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/output.h"

namespace postern::sql {

class Greeting {
 public:
  /// Bytes of the scramble.
  static constexpr size_t scramble_bytes = 20;
  static constexpr size_t bytes_max = 512;

  /// Learns from a whole packet, the first of a connection. nullopt: not a handshake packet, or with other values in
  /// these places. May throw std::bad_alloc.
  static std::optional<Greeting> of(Bytes packet, uint32_t number, Bytes scramble, uint16_t status);

  /// The packet for another connection.
  void write(Output &output, uint32_t number, Bytes scramble, uint16_t status) const;
  size_t bytes() const { return packet_.size(); }
  /// The server version in it.
  Bytes version() const { return Bytes(packet_).substr(version_at, number_at_ - 1 - version_at); }

 private:
  // The packet header, and a byte for the protocol version.
  static constexpr size_t version_at = 5;

  Greeting() = default;

  std::string packet_;
  size_t number_at_ = 0;
  size_t scramble_at_ = 0;  // the first part of the scramble
  size_t status_at_ = 0;
  size_t scramble_rest_at_ = 0;
};

/// The user name in a client's whole answer to a greeting; empty if it has none.
Bytes name_in_answer(Bytes packet);

}  // namespace postern::sql
