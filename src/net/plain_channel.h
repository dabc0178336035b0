// plain_channel.h: a channel over a TCP or unix socket as it is.
#pragma once

#include "net/channel.h"

namespace postern::net {

class PlainChannel final : public Channel {
 public:
  using Channel::Channel;
  Transfer receive(Input &input, size_t bytes_min) override;
  Transfer send(Output &output) override;
};

}  // namespace postern::net
