#include "net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace postern::net {
namespace {

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

bool somebody_answers(const Address &address) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && (::connect(probe.get(), address.get(), address.size()) == 0 || errno == EAGAIN);
}

}  // namespace

Listener::~Listener() {
  close();
}

void Listener::close() {
  if (fd_ && !path_.empty()) ::unlink(path_.c_str());
  path_.clear();
  fd_.reset();
}

bool Listener::open(const Address &address, const ListenOptions &options, std::string &error) {
  const auto failed = [&](const char *what) {
    error = std::string(what) + " " + address.print() + ": " + std::strerror(errno);
    return false;
  };
  Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed("socket for");
  if (address.is_unix()) {
    struct stat status;
    const std::string path = address.print();
    if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
      if (somebody_answers(address)) {
        errno = EADDRINUSE;
        return failed("cannot listen on");
      }
      ::unlink(path.c_str());
    }
  } else {
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (address.family() == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  }
  if (options.send_buffer > 0) set_option(fd.get(), SOL_SOCKET, SO_SNDBUF, options.send_buffer);
  if (options.receive_buffer > 0) set_option(fd.get(), SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
  if (::bind(fd.get(), address.get(), address.size()) != 0) return failed("cannot bind");
  if (address.is_unix()) {
    // From here on the file is ours. Its mode is set before anybody can connect, which needs listen().
    path_ = address.print();
    if (::chmod(path_.c_str(), options.unix_mode) != 0) {
      ::unlink(path_.c_str());
      path_.clear();
      return failed("cannot set the mode of");
    }
  }
  if (::listen(fd.get(), options.backlog) != 0) return failed("cannot listen on");
  fd_ = std::move(fd);
  address_ = address;
  return true;
}

Fd Listener::accept() {
  Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd && !address_.is_unix()) set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return fd;
}

}  // namespace postern::net
