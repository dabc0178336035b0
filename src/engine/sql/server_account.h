// server_account.h: ServerAccount, a database account that the server has authenticated.
#pragma once

#include <cstdint>
#include <string>

#include "contract/access.h"

namespace postern::sql {

/// Immutable; used only by the session that it was verified for, on any thread.
struct ServerAccount : Account {
  uint64_t serial = 0;  ///< unique among the logins of this process
  std::string host;     ///< the client's host name, or its address if it has none
  std::string ip;       ///< empty for a local client
  // CURRENT_USER().
  std::string name;  ///< empty for an anonymous account
  std::string host_pattern;
};

}  // namespace postern::sql
