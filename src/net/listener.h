// listener.h: a socket that accepts connections.
#pragma once

#include <sys/types.h>

#include <string>

#include "net/address.h"
#include "net/fd.h"

namespace postern::net {

struct ListenOptions {
  int backlog = 1024;
  mode_t unix_mode = 0660;  ///< permissions of a unix socket
  std::string unix_owner;   ///< and its owner: user, user:group or :group; empty leaves it to the process
  int send_buffer = 0;      ///< bytes; 0 leaves it to the kernel
  int receive_buffer = 0;
};

/// Non-blocking. Removes its unix socket's file when it dies. One thread accepts.
class Listener {
 public:
  Listener() = default;
  Listener(Listener &&) noexcept = default;
  Listener &operator=(Listener &&) noexcept = default;
  ~Listener();

  /// Takes the address; false with `error` set. Clients are refused until listen(). The file of a unix socket without a
  /// listener is replaced; one with a listener is not.
  bool bind(const Address &address, const ListenOptions &options, std::string &error);
  /// Starts to listen. Fails if another process listens by now.
  bool listen(std::string &error);
  void close();

  int fd() const { return fd_.get(); }
  const Address &address() const { return address_; }

  /// The next connection, non-blocking, or none with errno set.
  Fd accept();

 private:
  Fd fd_;
  Address address_;
  int backlog_ = 0;
  std::string path_;  // a unix socket's, which we remove
};

}  // namespace postern::net
