#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/attachment.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "engine/mariadb/basics/cluster.h"

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

/// Sets the THD's thread and stack end to those of the calling thread. It has a mysys variable already.
void note_thread(THD *thd) {
  const ThisThread &thread = this_thread();
  thd->thread_stack = static_cast<char *>(thread.stack_start);
  thd->mysys_var->stack_ends_here = thread.stack_end;
  thd->real_id = thread.self;
  thd->os_thread_id = thread.id;
}

}  // namespace

Attachment::Attachment() : thd_(current_thd), psi_(PSI_CALL_get_thread()), mysys_(my_thread_var) {}

Attachment::~Attachment() {
  PSI_CALL_set_thread(psi_);
  set_mysys_var(mysys_);
  set_current_thd(thd_);
}

void Attachment::to(THD *thd, st_my_thread_var *mysys) {
  wait_for_rollback(thd);
  set_mysys_var(mysys);
  // Where each connection has a thread of its own the server expects that one to take its THD back by itself.
  if (thd->mysys_var != mysys) thd->store_globals();
  set_current_thd(thd);
  note_thread(thd);
  PSI_CALL_set_thread(thd->get_psi());
}

AtWork::AtWork(THD *thd, st_my_thread_var *mysys) : attachment_(thd, mysys), thd_(thd) {
  thd->net.reading_or_writing = 0;
}

AtWork::~AtWork() {
  thd_->net.reading_or_writing = 1;
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
