// attachment.h: Attachment, a thread that acts as a session's THD for a while, as the server's thread pool does.
#pragma once

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

/// While one lives its thread is the THD's: the server's functions take that THD for theirs, and know where the stack
/// ends. A thread that is another THD's becomes that one's again. Attachments nest.
///
/// Between two commands a session rests, and a Galera node may roll its transaction back meanwhile, on a thread of the
/// node's own. An attachment waits until that is done; from then on the session is the attached thread's, until the
/// server has served a command.
class Attachment {
 public:
  /// The thread is nobody's: for a THD that is yet to be made, or has been deleted.
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

}  // namespace postern::mariadb
