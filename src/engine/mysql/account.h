// account.h: MysqlAccount, a database account that the server has authenticated.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/sql/server_account.h"

class Security_context;
struct user_conn;

namespace postern::mysqld {

/// While it lives its login counts among the account's connections.
struct MysqlAccount final : sql::ServerAccount {
  MysqlAccount() = default;
  MysqlAccount(const MysqlAccount &) = delete;
  MysqlAccount &operator=(const MysqlAccount &) = delete;
  ~MysqlAccount() override;

  /// Roles that its login activated: user and host of each.
  std::vector<std::pair<std::string, std::string>> roles;
  /// The server's count of the account's connections, including SQL's; nullptr if they are not limited.
  const user_conn *connections = nullptr;
};

/// CURRENT_USER(): user@host.
std::string account_name(const Security_context &context);

}  // namespace postern::mysqld
