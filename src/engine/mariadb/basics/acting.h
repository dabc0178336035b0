// acting.h: ActingContext, with which a thread of ours asks for another account's privileges.
#pragma once

#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/account.h"

namespace postern::mariadb {

/// The security context of a THD while it acts as an account. Other threads read the context of every THD without a
/// lock, and the texts it names (SHOW PROCESSLIST, KILL): it and its texts must live for as long as they can find the
/// THD. So one is kept for the thread's life, its texts are its own, and the user it shows is the thread's. Written by
/// the thread that it belongs to; a reader may see half of an old text and half of a new one, never the end of memory.
class ActingContext {
 public:
  /// Takes the account's present global privileges. False if the account was dropped, or another has come before it.
  bool take(const MariaAccount &account);
  Security_context *get() { return &context_; }

 private:
  Security_context context_;
  // Their last bytes are never written.
  char host_[MAX_HOSTNAME + 1] = {};
  char ip_[INET6_ADDRSTRLEN + 1] = {};
};

}  // namespace postern::mariadb
