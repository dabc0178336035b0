#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/bound_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace postern::mariadb {
namespace {

struct ThisThread {
  ThisThread() : id(static_cast<uint32>(::syscall(SYS_gettid))), self(pthread_self()) {
    char here = 0;
    my_get_stack_bounds(&stack_start, &stack_end, &here, my_thread_stack_size);
  }

  void *stack_start = nullptr;
  void *stack_end = nullptr;
  const uint32 id;
  const pthread_t self;
};

const ThisThread &this_thread() {
  static thread_local const ThisThread thread;
  return thread;
}

}  // namespace

void note_thread(THD *thd) {
  const ThisThread &thread = this_thread();
  thd->thread_stack = static_cast<char *>(thread.stack_start);
  thd->mysys_var->stack_ends_here = thread.stack_end;
  thd->real_id = thread.self;
  thd->os_thread_id = thread.id;
}

void act_as(THD *thd, st_my_thread_var *mysys, PSI_thread *psi) {
  set_mysys_var(mysys);
  set_current_thd(thd);
  note_thread(thd);
  PSI_CALL_set_thread(psi);
}

void act_as_nobody() {
  PSI_CALL_set_thread(nullptr);
  set_current_thd(nullptr);
  set_mysys_var(nullptr);
}

}  // namespace postern::mariadb
