// attachment.h: threads that act as a THD: Attachment and AtWork for a while, as the server's thread pool does, and
// act_as() for good.
#pragma once

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

/// While one lives its thread acts as the THD: the server's functions use that THD as the current one, with the right
/// end of the stack. Afterwards the thread acts as its previous THD again. Attachments nest.
///
/// Between two commands a session is idle, and a Galera node may roll its transaction back on a thread of its own. An
/// attachment waits until that is done; from then on the attached thread has the session, until the server has served a
/// command.
class Attachment {
 public:
  /// Detaches the thread: for a THD that is not made yet, or has been deleted.
  Attachment();
  /// `mysys`: the session's own, which a rollback by the node takes from the THD.
  Attachment(THD *thd, st_my_thread_var *mysys) : Attachment() { to(thd, mysys); }
  ~Attachment();
  Attachment(const Attachment &) = delete;
  Attachment &operator=(const Attachment &) = delete;

  void to(THD *thd, st_my_thread_var *mysys);

 private:
  THD *const thd_;
  PSI_thread *const psi_;
  st_my_thread_var *const mysys_;
};

/// An attachment to an idle session, which neither reads nor writes its socket meanwhile.
class AtWork {
 public:
  AtWork(THD *thd, st_my_thread_var *mysys);
  ~AtWork();
  AtWork(const AtWork &) = delete;
  AtWork &operator=(const AtWork &) = delete;

 private:
  const Attachment attachment_;
  THD *const thd_;
};

/// Attaches the calling thread to the THD, with the THD's mysys variable, or detaches it. No other thread acts as the
/// THD, and it has no client.
void act_as(THD *thd, st_my_thread_var *mysys, PSI_thread *psi);
void act_as_nobody();

}  // namespace postern::mariadb
