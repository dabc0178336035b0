#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/acting.h"

#include <algorithm>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {
namespace {

template <size_t size>
void copy(const std::string &text, char (&to)[size]) {
  const size_t taken = std::min(text.size(), size - 2);
  std::copy_n(text.data(), taken, to);
  to[taken] = '\0';
}

}  // namespace

bool ActingContext::take(const MariaAccount &account) {
  copy(account.host, host_);
  copy(account.ip, ip_);
  const char *const ip = account.ip.empty() ? nullptr : ip_;
  Security_context found;
  // By the account's name and not the user's, which may be an anonymous or a proxied one.
  const bool exists = compat::find_account(found, account.name, host_, ip) && account.name == found.priv_user &&
                      account.host_pattern == found.priv_host;
  found.user = thread_user;
  context_ = found;
  return exists;
}

}  // namespace postern::mariadb
