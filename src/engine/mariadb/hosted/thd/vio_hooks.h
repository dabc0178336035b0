// vio_hooks.h: hooks between the server's network code and a client's socket: bytes that the door has received already
// come first, and the server's answers may be captured.
//
// The server calls them through pointers in the Vio, on the thread that serves the session; reads and writes of the Vio
// on other threads use the server's own functions.
#pragma once

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/input.h"
#include "base/output.h"
#include "contract/server_session.h"

struct st_net;
struct st_vio;

namespace postern::mariadb {

/// A login after the door has sent the greeting, or a COM_CHANGE_USER after it has asked for the proof: the server's
/// own copy of that packet is dropped.
struct GreetedLogin {
  Bytes greeting{};  ///< as it was sent
  /// For a COM_CHANGE_USER. If the server sends anything else first, the client's reply is dropped, and packet numbers
  /// continue after it.
  st_net *net = nullptr;
  bool may_wait = false;   ///< whether further reads of the server may wait; if not they find the end of the stream
  bool timed_out = false;  ///< or time out

  bool greets_otherwise = false;  ///< the server began with another packet
  bool asks_on = false;           ///< the server wanted more than one packet from the client
};

/// Input and output of one command, while the server serves it.
class Conversation {
 public:
  /// The bytes of `packet` come first, then those of `rest`, then the socket's. Captures the server's answer in
  /// `answer`, unless that is nullptr or the answer exceeds `answer_bytes_max`. The thread has one at a time.
  Conversation(st_vio *vio, Bytes packet, Input *rest, std::string *answer,
               size_t answer_bytes_max = answer_bytes_usual);
  /// The server reads only `packet`, and its answer goes to `output` in place of the socket.
  Conversation(st_vio *vio, Bytes packet, Output &output);
  /// A login, or a change of the user. The server's answers go to `output`, if any, in place of the socket.
  Conversation(st_vio *vio, Bytes packet, Input *rest, Output *output, GreetedLogin &login);
  ~Conversation();
  Conversation(const Conversation &) = delete;
  Conversation &operator=(const Conversation &) = delete;

  static constexpr size_t answer_bytes_usual = size_t{16} << 10;

  // For the hooks.
  const st_vio *vio() const { return vio_; }
  /// Copies available bytes, at most `size`, and returns their number.
  size_t take(char *to, size_t size);
  /// The bytes of the packet that the server has not read.
  Bytes packet() const { return packet_; }
  /// The same; the server does not read them any more.
  Bytes take_packet() { return std::exchange(packet_, {}); }
  /// Whether the server has not read all of the packet.
  bool has_packet() const { return !packet_.empty(); }
  bool has_data() const { return !packet_.empty() || (rest_ != nullptr && rest_->unparsed_bytes() != 0); }
  /// Whether a read may wait for further bytes.
  bool may_wait() const;
  /// Notes a read that may not wait, and returns its result.
  size_t fail_read() const;
  /// Whether the server's bytes are only captured.
  bool write(Bytes bytes) noexcept;
  /// Replacements for bytes that the server writes; empty: none. May throw std::bad_alloc.
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
  bool renumbers_ = false;  // the next bytes written
};

/// The bytes that the server itself has read from and written to sockets, on this thread, since the last call.
Traffic take_traffic();

/// Sets the hooks in the Vio, or sets them again: TLS, which may begin during the login, resets the pointers.
void hook(st_vio *vio);

}  // namespace postern::mariadb
