// acting.h: ActingContext, with which a door's thread checks another account's privileges.
#pragma once

#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/account.h"

namespace postern::mariadb {

/// The security context of a THD while it acts as an account. Other threads read the context of every THD, and its
/// texts, without a lock (SHOW PROCESSLIST, KILL): both must live as long as they can find the THD. So one is kept for
/// the thread's life, it owns its texts, and it shows the thread's user. Written by the thread that it belongs to; a
/// reader may see parts of an old and a new text, but never reads past the end.
class ActingContext {
 public:
  /// Takes the account's present global privileges. False if the account was dropped, or another one now matches first.
  bool take(const MariaAccount &account);
  Security_context *get() { return &context_; }

 private:
  Security_context context_;
  // Their last bytes are never written.
  char host_[MAX_HOSTNAME + 1] = {};
  char ip_[INET6_ADDRSTRLEN + 1] = {};
};

}  // namespace postern::mariadb
