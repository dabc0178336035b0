// serve_statement.h: how the server serves the next statement of a connection that is away from its worker's turn.
//
// On the thread that has the connection: one of the statement pool, or of a worker's crew.
#pragma once

#include <memory>

#include "contract/server_session.h"
#include "door/lanes/slow_job.h"

namespace postern::door {

/// Whether the next op is the login of a session that is yet to begin.
bool is_login(const SlowJob &job);

/// Serves the next op of the job. False if the session has ended. `listener` hears of the thread's waits.
bool serve_next(SlowJob &job, WaitListener *listener);

/// Ops that are left of the job are the connection's again, and its answers may leave.
void finish_job(SlowJob &job);

/// To its worker, which closes it if it is dead.
void send_home(std::unique_ptr<SlowJob> job);

/// Ends the session of a dead connection. On a thread that may wait.
void end_session(Connection &connection);

}  // namespace postern::door
