// account.h: MariaAccount, a database account that the server has authenticated.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/sql/server_account.h"

class Security_context;
struct user_conn;

namespace postern::mariadb {

/// While it lives its login counts among the account's connections.
struct MariaAccount final : sql::ServerAccount {
  MariaAccount() = default;
  MariaAccount(const MariaAccount &) = delete;
  MariaAccount &operator=(const MariaAccount &) = delete;
  ~MariaAccount() override;

  std::string role;  ///< its default role; empty for none
  /// The server's count of the account's connections, including SQL's; nullptr if they are not limited.
  user_conn *connections = nullptr;
};

/// CURRENT_USER(): user@host.
std::string account_name(const Security_context &context);
/// Whether `name` is that.
bool is_account_name(const Security_context &context, Bytes name);

}  // namespace postern::mariadb
