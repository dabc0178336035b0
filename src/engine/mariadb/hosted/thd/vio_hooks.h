// vio_hooks.h: hooks between the server's network code and a client's socket: bytes that the door has received already
// come first, and the server's answers may be captured.
//
// The server asks these through pointers in the Vio, on the thread that serves the session; whatever reads or writes
// the Vio on another thread gets the server's own functions.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/input.h"
#include "base/output.h"
#include "contract/server_session.h"

struct st_net;
struct st_vio;

namespace postern::mariadb {

/// A login after the door has sent the greeting, or a COM_CHANGE_USER after it has asked for the proof: the server says
/// that again, to nobody.
struct GreetedLogin {
  Bytes greeting{};  ///< as it was sent
  /// Of a COM_CHANGE_USER. If the server says something else first, the client's reply is dropped, and the numbers of
  /// packets go on after it.
  st_net *net = nullptr;
  bool may_wait = false;   ///< what else the server reads may be waited for; else the client is gone for it
  bool timed_out = false;  ///< or has said nothing for too long

  bool greets_otherwise = false;  ///< by now the server begins with other words
  bool asks_on = false;           ///< the server wanted more of the client than one packet
};

/// What one command reads and writes, while the server serves it.
class Conversation {
 public:
  /// The bytes of `packet` come first, then those of `rest`, then the socket's. The server's answer is captured in
  /// `answer`, unless that is nullptr; one of more than `answer_bytes_max` is not. The thread has one at a time.
  Conversation(st_vio *vio, Bytes packet, Input *rest, std::string *answer,
               size_t answer_bytes_max = answer_bytes_usual);
  /// The server reads `packet` and nothing else, and its answer goes to `output` in place of the socket.
  Conversation(st_vio *vio, Bytes packet, Output &output);
  /// A login, or a change of the user. The server's answers go to `output` if there is one, in place of the socket.
  Conversation(st_vio *vio, Bytes packet, Input *rest, Output *output, GreetedLogin &login);
  ~Conversation();
  Conversation(const Conversation &) = delete;
  Conversation &operator=(const Conversation &) = delete;

  static constexpr size_t answer_bytes_usual = size_t{16} << 10;

  // For the hooks.
  const st_vio *vio() const { return vio_; }
  /// Copies what there is, at most `size` bytes, and returns how much.
  size_t take(char *to, size_t size);
  /// Whether the server has left bytes of the packet.
  bool has_packet() const { return !packet_.empty(); }
  bool has_data() const { return !packet_.empty() || (rest_ != nullptr && rest_->unparsed_bytes() != 0); }
  /// Whether bytes that are not there may be waited for.
  bool may_wait() const;
  /// Notes that they may not; the result of such a read.
  size_t fail_read() const;
  /// Whether capturing is all that happens with bytes that the server writes.
  bool write(Bytes bytes) noexcept;
  /// Bytes that the server writes with others in their place; empty: there are none. May throw std::bad_alloc.
  std::string take_renumbered(Bytes bytes);

 private:
  const st_vio *const vio_;
  Bytes packet_;
  Input *const rest_;
  std::string *answer_;
  const size_t answer_bytes_max_;
  Output *const output_ = nullptr;
  GreetedLogin *const login_ = nullptr;
  bool greeted_ = false;
  bool renumbers_ = false;  // the next bytes that are written
};

/// The bytes that the server has read from sockets and written to them by itself, on this thread, since the last call.
Traffic take_traffic();

/// Has the Vio ask here from now on, or again: TLS, which may begin during the login, sets the pointers anew.
void hook(st_vio *vio);

}  // namespace postern::mariadb
