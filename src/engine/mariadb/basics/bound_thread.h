// bound_thread.h: binds a thread to the THD that it acts as, for server functions that depend on that.
#pragma once

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

/// Sets the THD's thread and stack end to those of the calling thread. It has a mysys variable already.
void note_thread(THD *thd);

/// Attaches the calling thread to the THD, with the THD's mysys variable, or detaches it. No other thread acts as the
/// THD, and it has no client.
void act_as(THD *thd, st_my_thread_var *mysys, PSI_thread *psi);
void act_as_nobody();

}  // namespace postern::mariadb
