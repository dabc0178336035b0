#include "net/channel.h"

#include <poll.h>

namespace postern::net {

Presence presence_of(int socket) {
  pollfd asked{.fd = socket, .events = POLLRDHUP, .revents = 0};
  if (::poll(&asked, 1, 0) <= 0) return Presence::there;
  return asked.revents & ~POLLRDHUP ? Presence::gone : Presence::ended;
}

}  // namespace postern::net
