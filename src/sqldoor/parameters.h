// parameters.h: parses the values that a client binds to a prepared statement in COM_STMT_EXECUTE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/arena.h"
#include "base/bytes.h"
#include "contract/value.h"

namespace postern::sqldoor {

/// The body of a COM_STMT_EXECUTE, after its header and command byte. Views of the packet.
struct Execution {
  uint32_t id = 0;
  uint8_t flags = 0;
  Bytes nulls{};               ///< a bit for each parameter
  std::optional<Bytes> types;  ///< two bytes for each, if the client sends them
  Bytes values{};
};

/// nullopt: malformed for a statement with so many parameters.
std::optional<Execution> read_execution(Bytes body, uint32_t parameters);

/// The values of so many parameters, in `arena`. nullopt: some have a type that is left to the server (all except
/// integers, decimals, doubles below 2^53, and texts), or the bytes do not match the types.
std::optional<std::span<const Value>> read_parameters(Bytes types, Bytes nulls, Bytes values, uint32_t parameters,
                                                      Arena &arena);

}  // namespace postern::sqldoor
