// interruption.h: how a thread of ours goes on after an interrupted statement.
#pragma once

class THD;

namespace postern::mysqld {

/// KILL QUERY, or a timer, has ended the calling thread's work, or came when it was idle: it goes on, unless somebody
/// ends its connection.
void end_interruption(THD *thd);
/// The same of a timer of ours alone (KILL_TIMEOUT).
void end_timeout(THD *thd);

}  // namespace postern::mysqld
