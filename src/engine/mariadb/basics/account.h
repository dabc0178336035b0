// account.h: MariaAccount, a database account that the server let in.
#pragma once

#include <cstdint>
#include <string>

#include "contract/access.h"

class Security_context;
struct user_conn;

namespace postern::mariadb {

/// Immutable; shared by the session it was verified for and nobody else, on any thread. As long as it lives its login
/// counts among the account's connections.
struct MariaAccount final : Account {
  MariaAccount() = default;
  MariaAccount(const MariaAccount &) = delete;
  MariaAccount &operator=(const MariaAccount &) = delete;
  ~MariaAccount() override;

  uint64_t serial = 0;  ///< no other login of this process has it
  std::string host;     ///< the client's host name, or its address if it has none
  std::string ip;       ///< empty for a local client
  // CURRENT_USER() and CURRENT_ROLE().
  std::string name;  ///< empty for an anonymous account
  std::string host_pattern;
  std::string role;  ///< its default role; empty for none
  /// The server's count of its connections, SQL's among them; nullptr if nothing limits those.
  user_conn *connections = nullptr;
};

/// CURRENT_USER(): user@host.
std::string account_name(const Security_context &context);

}  // namespace postern::mariadb
