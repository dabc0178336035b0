// account.h: MariaAccount, a database account that the server let in.
#pragma once

#include <cstdint>
#include <string>

#include "contract/access.h"

namespace postern::mariadb {

/// Immutable; shared by the session it was verified for and nobody else, on any thread.
struct MariaAccount final : Account {
  uint64_t serial = 0;  ///< no other login of this process has it
  std::string host;     ///< the client's host name, or its address if it has none
  std::string ip;       ///< empty for a local client
  // CURRENT_USER() and CURRENT_ROLE().
  std::string name;  ///< empty for an anonymous account
  std::string host_pattern;
  std::string role;  ///< its default role; empty for none
};

}  // namespace postern::mariadb
