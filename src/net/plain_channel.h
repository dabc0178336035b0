// plain_channel.h: bytes over a TCP or unix socket as it is.
#pragma once

#include <cstddef>

#include "base/input.h"
#include "base/output.h"
#include "net/channel.h"

namespace postern::net {

/// See Channel.
Transfer receive_plain(int socket, Input &input, size_t bytes_min);
Transfer send_plain(int socket, Output &output);

}  // namespace postern::net
