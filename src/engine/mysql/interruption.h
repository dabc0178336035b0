// interruption.h: lets a door's thread continue after an interrupted statement.
#pragma once

class THD;

namespace postern::mysqld {

/// Clears KILL QUERY, or a timer's interruption, of the calling thread, unless its connection was killed.
void end_interruption(THD *thd);
/// The same for our own timer only (KILL_TIMEOUT).
void end_timeout(THD *thd);

}  // namespace postern::mysqld
