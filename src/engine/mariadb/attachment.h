// attachment.h: Attachment, a thread that acts as a session's THD for a while, as the server's thread pool does.
#pragma once

class THD;
struct PSI_thread;
struct st_my_thread_var;

namespace postern::mariadb {

/// While one lives its thread is the THD's: the server's functions take that THD for theirs, and know where the stack
/// ends. A thread that is another THD's becomes that one's again. Attachments nest; the THD must be nobody else's.
class Attachment {
 public:
  /// The thread is nobody's: for a THD that is yet to be made, or has been deleted.
  Attachment();
  explicit Attachment(THD *thd) : Attachment() { to(thd); }
  ~Attachment();
  Attachment(const Attachment &) = delete;
  Attachment &operator=(const Attachment &) = delete;

  void to(THD *thd);

 private:
  THD *const thd_;
  PSI_thread *const psi_;
  st_my_thread_var *const mysys_;
};

}  // namespace postern::mariadb
