// interruption.h: lets a door's thread continue after an interrupted statement.
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

}  // namespace postern::mariadb
