// any_channel.h: AnyChannel, a channel of any kind by value: a plain one, the usual kind, needs no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/input.h"
#include "base/output.h"
#include "net/channel.h"
#include "net/fd.h"
#include "net/plain_channel.h"

namespace postern::net {

/// Owned by a connection, used by one thread at a time. Never blocks.
class AnyChannel {
 public:
  /// A TCP or unix socket as it is.
  explicit AnyChannel(Fd socket) : plain_(std::move(socket)) {}
  explicit AnyChannel(std::unique_ptr<Channel> other) : other_(std::move(other)) {}

  // See Channel.
  Transfer receive(Input &input, size_t bytes_min) {
    return other_ == nullptr ? receive_plain(plain_.get(), input, bytes_min) : other_->receive(input, bytes_min);
  }
  Transfer send(Output &output) { return other_ == nullptr ? send_plain(plain_.get(), output) : other_->send(output); }
  Wishes wishes() const { return other_ == nullptr ? Wishes{} : other_->wishes(); }
  void *tls() const { return other_ == nullptr ? nullptr : other_->tls(); }
  Presence presence() const { return presence_of(fd()); }
  int fd() const { return other_ == nullptr ? plain_.get() : other_->fd(); }
  Fd release() { return other_ == nullptr ? std::move(plain_) : other_->release(); }

  /// nullptr: it is plain.
  const Channel *other() const { return other_.get(); }

 private:
  std::unique_ptr<Channel> other_;
  Fd plain_;
};

}  // namespace postern::net
