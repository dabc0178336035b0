// at_work.h: AtWork, a thread that works in an idle session.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/hosted/thd/attachment.h"

namespace postern::mariadb {

/// While one lives the thread is attached to the session, which neither reads nor writes its socket.
class AtWork {
 public:
  AtWork(THD *thd, st_my_thread_var *mysys) : attachment_(thd, mysys), thd_(thd) { thd->net.reading_or_writing = 0; }
  ~AtWork() { thd_->net.reading_or_writing = 1; }
  AtWork(const AtWork &) = delete;
  AtWork &operator=(const AtWork &) = delete;

 private:
  const Attachment attachment_;
  THD *const thd_;
};

}  // namespace postern::mariadb
