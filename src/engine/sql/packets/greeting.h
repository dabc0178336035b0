// greeting.h: Greeting, the packet with which a server begins a conversation, learnt from one that it has sent; and the
// name in the client's answer.
//
// Only its number of the connection, the text that passwords are scrambled with, and the session's status differ from
// one connection to the next. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/output.h"

namespace postern::sql {

class Greeting {
 public:
  /// Bytes of the text that passwords are scrambled with.
  static constexpr size_t scramble_bytes = 20;
  static constexpr size_t bytes_max = 512;

  /// From a whole packet, the first one of a conversation. nullopt: it is none, or has other values at the places of
  /// these. May throw std::bad_alloc.
  static std::optional<Greeting> of(Bytes packet, uint32_t number, Bytes scramble, uint16_t status);

  /// The packet for another connection.
  void write(Output &output, uint32_t number, Bytes scramble, uint16_t status) const;
  size_t bytes() const { return packet_.size(); }
  /// The version that it says.
  Bytes version() const { return Bytes(packet_).substr(version_at, number_at_ - 1 - version_at); }

 private:
  // The header of the packet, and a byte for the protocol's version.
  static constexpr size_t version_at = 5;

  Greeting() = default;

  std::string packet_;
  size_t number_at_ = 0;
  size_t scramble_at_ = 0;  // its first part
  size_t status_at_ = 0;
  size_t scramble_rest_at_ = 0;
};

/// The name of the account in a client's whole answer to a greeting; empty if it has none.
Bytes name_in_answer(Bytes packet);

}  // namespace postern::sql
