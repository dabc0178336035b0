// user_change.h: UserChange, a COM_CHANGE_USER after its client was asked for a proof.
//
// For each such command the server asks for a proof and waits for the client's reply, even if the command contains one.
// To avoid the wait, a worker asks in the server's place and keeps the command. The server gets the command together
// with the reply, and its own question is dropped (GreetedLogin).
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/output.h"

class THD;

namespace postern::mariadb {

/// Owned by one session; for the thread that has it.
class UserChange {
 public:
  /// Asks, if the server's question is known. False: nothing has happened, and the server has to ask.
  bool ask(THD *thd, Bytes packet, Output &output);
  /// Whether the client's next packet is its reply.
  bool awaits_reply() const { return !packets_.empty(); }
  /// Both packets, valid until the next call; ends the wait for the client.
  Bytes with(Bytes reply);
  Bytes question() const { return question_; }
  /// Called when the server has served the command and its reply.
  void end(bool asked_otherwise);
  /// For a command that the server serves by itself: predicts its question, then compares it with the server's, so that
  /// a worker may ask the next time.
  void expect(THD *thd, Bytes packet);
  void note_answer(Bytes packet, Bytes answer) const;

 private:
  std::string question_;
  std::string packets_;
};

}  // namespace postern::mariadb
