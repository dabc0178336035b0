// login.h: the ops of AUTH and HELLO. A login that fails changes nothing: the client keeps its account.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// The other parts of a HELLO or AUTH, with or without a login. Views of the arguments.
struct Greeting {
  bool greets = false;  ///< HELLO: answered with the server's facts
  int64_t resp = 0;     ///< 2 or 3; 0: unchanged
  bool logs_in = false;
  Bytes user{};
  Bytes password{};
  bool names = false;
  Bytes name{};
};

/// Does all of it, or nothing.
Next add_greeting(Call &call, const Greeting &greeting);

/// Whether a client may have this name.
[[nodiscard]] bool is_client_name(Bytes name);
inline constexpr Bytes bad_client_name = "ERR Client names cannot contain spaces, newlines or special characters.";

}  // namespace postern::redis
