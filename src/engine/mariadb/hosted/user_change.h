// user_change.h: UserChange, a COM_CHANGE_USER whose client has been asked for its proof.
//
// For each such command the server asks for a proof and waits for the client's reply, also where the command has one.
// So that nothing waits, a worker asks in its place, as the server would, and keeps the command. The server gets the
// command together with the reply, and its own question goes to nobody (GreetedLogin).
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/output.h"

class THD;

namespace postern::mariadb {

/// Of one session; for the thread that has it.
class UserChange {
 public:
  /// Asks, where it is known what the server would ask. False: nothing has happened, and the server is to ask.
  bool ask(THD *thd, Bytes packet, Output &output);
  /// Whether the client's next packet is its reply.
  bool awaits_reply() const { return !packets_.empty(); }
  /// Both packets, until the next call; the client is then awaited no more.
  Bytes with(Bytes reply);
  Bytes question() const { return question_; }
  /// The server has served the command and its reply.
  void end(bool asked_otherwise);
  /// The server will serve the command by itself: foretells its question. Then compares it with the server's answer, so
  /// that a worker may ask the next time.
  void expect(THD *thd, Bytes packet);
  void note_answer(Bytes packet, Bytes answer) const;

 private:
  std::string question_;
  std::string packets_;
};

}  // namespace postern::mariadb
