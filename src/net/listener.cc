#include "net/listener.h"

#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace postern::net {
namespace {

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

/// The number of a user or group by its name; false if there is none such. `Entry` and `look_up` are the system's.
template <class Entry, class Id>
bool find_id(const std::string &name, int (*look_up)(const char *, Entry *, char *, size_t, Entry **), Id Entry::*id,
             Id &found) {
  std::vector<char> room(size_t{64} << 10);
  Entry entry;
  Entry *result = nullptr;
  if (look_up(name.c_str(), &entry, room.data(), room.size(), &result) != 0 || result == nullptr) return false;
  found = entry.*id;
  return true;
}

/// Changes a file's owner to `owner`: user, user:group or :group.
bool give_to(const std::string &path, const std::string &owner, std::string &error) {
  const size_t colon = owner.find(':');
  const std::string user = owner.substr(0, colon);
  const std::string its_group = colon != std::string::npos ? owner.substr(colon + 1) : "";
  auto user_id = static_cast<uid_t>(-1);
  auto group_id = static_cast<gid_t>(-1);
  if (!user.empty() && !find_id(user, getpwnam_r, &passwd::pw_uid, user_id)) {
    error = "no such user: '" + user + "'";
    return false;
  }
  if (!its_group.empty() && !find_id(its_group, getgrnam_r, &group::gr_gid, group_id)) {
    error = "no such group: '" + its_group + "'";
    return false;
  }
  if (::chown(path.c_str(), user_id, group_id) == 0) return true;
  error = "cannot give " + path + " to " + owner + ": " + std::strerror(errno);
  return false;
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

bool Listener::bind(const Address &address, const ListenOptions &options, std::string &error) {
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
    set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // the connections inherit it
  }
  if (options.send_buffer > 0) set_option(fd.get(), SOL_SOCKET, SO_SNDBUF, options.send_buffer);
  if (options.receive_buffer > 0) set_option(fd.get(), SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
  if (::bind(fd.get(), address.get(), address.size()) != 0) return failed("cannot bind");
  if (address.is_unix()) {
    // From here on the file is ours. Its mode is set before listen(), and so before clients can connect.
    path_ = address.print();
    if (!options.unix_owner.empty() && !give_to(path_, options.unix_owner, error)) {
      ::unlink(path_.c_str());
      path_.clear();
      return false;
    }
    if (::chmod(path_.c_str(), options.unix_mode) != 0) {
      ::unlink(path_.c_str());
      path_.clear();
      return failed("cannot set the mode of");
    }
  }
  fd_ = std::move(fd);
  address_ = address;
  backlog_ = options.backlog;
  return true;
}

bool Listener::listen(std::string &error) {
  if (::listen(fd_.get(), backlog_) == 0) return true;
  error = "cannot listen on " + address_.print() + ": " + std::strerror(errno);
  return false;
}

Fd Listener::accept() {
  return Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace postern::net
