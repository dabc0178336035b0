// bound_thread.h: what binds a thread to a THD that it acts as, for the server's functions that look there.
#pragma once

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

/// The THD, which has a mysys variable, knows the calling thread, and where its stack ends.
void note_thread(THD *thd);

/// The calling thread is the THD's from now on, with the mysys variable that the THD was made with; or nobody's. No
/// other thread acts as it, and it is no client's.
void act_as(THD *thd, st_my_thread_var *mysys, PSI_thread *psi);
void act_as_nobody();

}  // namespace postern::mariadb
