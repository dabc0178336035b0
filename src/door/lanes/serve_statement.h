// serve_statement.h: lets the server serve the next statement of a connection outside its worker's turn.
//
// Called on the thread that has the connection: one of the statement pool, or of a worker's crew.
#pragma once

#include <memory>

#include "contract/server_session.h"
#include "door/lanes/slow_job.h"

namespace postern::door {

/// Whether the next op is the login of a session that has not begun.
bool is_login(const SlowJob &job);

/// Serves the next op of the job. False if the session has ended. `listener` is called when the thread waits.
bool serve_next(SlowJob &job, WaitListener *listener);

/// Gives the job's remaining ops back to the connection, and releases its answers.
void finish_job(SlowJob &job);

/// Returns the connection to its worker, which closes it if it is dead.
void send_home(std::unique_ptr<SlowJob> job);

/// Ends the session of a dead connection. On a thread that may wait.
void end_session(Connection &connection);

}  // namespace postern::door
