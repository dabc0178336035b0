// lent_channel.h: a channel over a borrowed socket, and perhaps a borrowed TLS session; the owner closes both.
//
// The owner may read and write both while this channel is not used. All its bytes must have been sent before that.
#pragma once

#include <cstdint>

#include "net/channel.h"
#include "net/tls_context.h"

namespace postern::net {

class LentChannel final : public Channel {
 public:
  /// `ssl`, an OpenSSL session after its handshake, or nullptr. Both outlive the channel's last use.
  LentChannel(int fd, ssl_st *ssl) : Channel(Fd(fd)), ssl_(ssl) {}
  ~LentChannel() override { (void)release().release(); }

  /// The first so many bytes are received without any after them, which the owner may want to read itself.
  void receive_at_first(uint8_t bytes) { at_first_ = bytes; }

  Transfer receive(Input &input, size_t bytes_min) override;
  Transfer send(Output &output) override;
  Wishes wishes() const override { return wishes_; }
  void *tls() const override { return ssl_; }

 private:
  Transfer receive_tls(Input &input, size_t bytes_min);
  Transfer send_tls(Output &output);

  ssl_st *const ssl_;
  Wishes wishes_;
  uint8_t at_first_ = 0;
};

}  // namespace postern::net
