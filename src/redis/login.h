// login.h: the ops of AUTH and HELLO. A login that fails changes nothing: the client keeps its account.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// The client's other requests together with a login, or without one. Views of the arguments.
struct Greeting {
  bool greets = false;  ///< HELLO: answered with the server's facts
  int64_t resp = 0;     ///< 2, 3; 0: as it is
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
