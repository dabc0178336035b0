#include "engine/mariadb/server.h"

#include "engine/mariadb/hosted_session.h"

namespace postern::mariadb {

void HostedSession::learn(const Statement &, Bytes) {}

void HostedSession::note_context() {}

}  // namespace postern::mariadb
