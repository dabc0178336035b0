// interruption.h: ends the statement of another thread, and lets a door's thread continue after an interrupted one.
//
// THD::reset_killed() clears any kill state once it has the lock. Code that checks first and then calls it loses a KILL
// in between.
#pragma once

class THD;

namespace postern::mariadb {

/// Clears KILL QUERY, or a timer's interruption, of the calling thread, unless its connection was killed.
void end_interruption(THD *thd);
/// The same for our own timer only (KILL_TIMEOUT).
void end_timeout(THD *thd);

/// As THD::awake(KILL_CONNECTION) for a THD that another thread may act as, but brief whatever that one waits for. The
/// caller keeps the THD from being deleted.
void kill_session(THD *thd);

}  // namespace postern::mariadb
