// plain_channel.h: a channel over a TCP or unix socket as it is.
#pragma once

#include "net/channel.h"
#include "net/fd.h"

namespace postern::net {

class PlainChannel final : public Channel {
 public:
  explicit PlainChannel(Fd fd) : fd_(std::move(fd)) {}
  Transfer receive(Input &input, size_t bytes_min) override;
  Transfer send(Output &output) override;
  Presence presence() const override;
  int fd() const override { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace postern::net
