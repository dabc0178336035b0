#include "engine/mariadb/server.h"

#include "engine/mariadb/hosted_session.h"

namespace postern::mariadb {

bool HostedSession::run_in_turn(const Statement &, Counters &) {
  return false;
}

}  // namespace postern::mariadb
