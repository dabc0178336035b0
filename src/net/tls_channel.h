// tls_channel.h: a channel over TLS, the server's side.
//
// Receiving drives the handshake; no output is sent before it is done. Renegotiation is refused. The destructor sends
// close_notify if that needs no waiting.
#pragma once

#include <string>

#include "net/channel.h"
#include "net/tls_context.h"

struct bio_st;
struct bio_method_st;

namespace postern::net {

class TlsChannel final : public Channel {
 public:
  /// `early` was received from `fd` already.
  TlsChannel(Fd fd, Ssl ssl, Bytes early);
  ~TlsChannel() override;

  /// May return no bytes although some came: those of the handshake.
  Transfer receive(Input &input, size_t bytes_min) override;
  Transfer send(Output &output) override;
  Wishes wishes() const override { return wishes_; }
  void *tls() const override { return ssl_.get(); }

  /// Whether the handshake is still under way.
  bool greeting() const;
  /// Whether the client took up an earlier session; once greeting() is over.
  bool resumed() const;

 private:
  static const bio_method_st *wire();
  static int read_wire(bio_st *bio, char *to, int bytes);
  static int write_wire(bio_st *bio, const char *from, int bytes);
  static long control_wire(bio_st *bio, int what, long number, void *pointer);

  Transfer::Result failure(int returned);

  Ssl ssl_;
  std::string early_;          // received before the channel was, and not yet read
  int receives_left_ = 0;      // in this call
  bool wire_ended_ = false;    // no more bytes will come
  bool out_of_order_ = false;  // TLS failed: no close_notify is sent
  Wishes wishes_;
};

}  // namespace postern::net
