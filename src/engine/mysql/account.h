// account.h: MysqlAccount, a database account that the server let in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/sql/server_account.h"

class Security_context;
struct user_conn;

namespace postern::mysqld {

/// As long as it lives its login counts among the account's connections.
struct MysqlAccount final : sql::ServerAccount {
  MysqlAccount() = default;
  MysqlAccount(const MysqlAccount &) = delete;
  MysqlAccount &operator=(const MysqlAccount &) = delete;
  ~MysqlAccount() override;

  /// Those that its login made active: user and host of each.
  std::vector<std::pair<std::string, std::string>> roles;
  /// The server's count of its connections, SQL's among them; nullptr if nothing limits those.
  const user_conn *connections = nullptr;
};

/// CURRENT_USER(): user@host.
std::string account_name(const Security_context &context);

}  // namespace postern::mysqld
