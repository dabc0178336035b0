// parser.h: a line's tokens → a request, or the reason for refusing it.
//
// Total: any bytes give one or the other. Every number is compared with its limit before it sizes anything. Failures
// are checked in the original's order; grammar.md has it.
//
//   Tokens tokens(line, end);
//   switch (command_of(tokens.take())) ...
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "contract/executor.h"
#include "handlersocket/refusal.h"
#include "handlersocket/request.h"
#include "handlersocket/token.h"

namespace postern::handlersocket {

struct Rules {
  Access access = Access::read;
  uint32_t key_values_max = limits::key_values_max;
  /// For the index that the line names; the engine checks the rest.
  uint32_t filter_columns = 0;
};

/// Index ids are below this.
inline constexpr uint64_t index_ids = uint64_t{1} << 32;

Command command_of(Bytes first_token);

/// Each takes the tokens after the first. Lists of names go into the arena.
[[nodiscard]] Reason parse_open(Tokens &tokens, Arena &arena, OpenRequest &request);
AuthenticateRequest parse_authenticate(Tokens &tokens);
/// User and password, the tokens after the type of `A 2`; a missing one is empty. Both are values.
[[nodiscard]] Failure parse_login(Tokens &tokens, Login &login);
/// Values and filters go into the arena.
[[nodiscard]] Reason parse_index_request(Tokens &tokens, const Rules &rules, Arena &arena, IndexRequest &request);

}  // namespace postern::handlersocket
