#include "door/reception.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "door/worker.h"
#include "net/any_channel.h"
#include "net/lent_channel.h"

namespace postern::door {
namespace {

/// Whether accept() failed because of one client, which has left or is forbidden, and not because of this process.
bool concerns_one_client(int error) {
  switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ETIMEDOUT: return true;
    default: return false;
  }
}

bool is_want_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// The port of a TCP socket.
uint16_t bound_port(const net::Listener &socket) {
  sockaddr_in6 bound{};  // has its port at the same offset as an IPv4 address
  socklen_t size = sizeof bound;
  return getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&bound), &size) == 0 ? ntohs(bound.sin6_port) : 0;
}

}  // namespace

Reception::Reception(const Options &options, Protocol &protocol, Engine &engine, Roster &roster, const Workers &workers,
                     const net::WakeFd &keeper)
    : options_(options), protocol_(protocol), engine_(engine), roster_(roster), workers_(workers), keeper_(keeper) {}

Reception::~Reception() = default;

bool Reception::bind(std::string &error) {
  net::Address address;
  sockets_.reserve(2);
  if (options_.port != 0 || options_.any_port) {
    if (!net::Address::parse(options_.host, options_.port, address, error)) return false;
    if (!add_socket(address, error)) return false;
    port_ = bound_port(sockets_.back());
  }
  if (options_.unix_path.empty()) return true;
  return net::Address::parse_unix(options_.unix_path, address, error) && add_socket(address, error);
}

bool Reception::add_socket(const net::Address &address, std::string &error) {
  net::ListenOptions options;
  options.backlog = options_.backlog;
  options.unix_mode = options_.unix_mode;
  options.unix_owner = options_.unix_owner;
  options.send_buffer = options_.send_buffer;
  options.receive_buffer = options_.receive_buffer;
  return sockets_.emplace_back().bind(address, options, error);
}

bool Reception::listen(std::string &error) {
  for (net::Listener &socket : sockets_)
    if (!socket.listen(error)) return false;
  listening_.store(true, std::memory_order_relaxed);
  const char *tls = "";
  if (options_.require_tls) tls = ", with TLS only";
  else if (options_.tls != nullptr && options_.tls->loaded()) tls = ", with or without TLS";
  const std::string clients = options_.lets_in.empty() ? "" : ", lets in: " + options_.lets_in;
  if (port_ != 0)
    log::note("%s port: listening on %s port %u%s%s", options_.name.c_str(), options_.host.c_str(), port_, tls,
              clients.c_str());
  if (!options_.unix_path.empty())
    log::note("%s socket: listening on %s%s", options_.name.c_str(), options_.unix_path.c_str(), clients.c_str());
  return true;
}

bool Reception::watch() {
  const std::lock_guard guard(mutex_);
  must_rest_ = false;
  watched_ = listening();
  if (!watched_) return true;
  int refusal = 0;
  for (net::Listener &socket : sockets_)
    for (const auto &worker : workers_)
      if (!worker->watch(socket)) refusal = errno;
  must_rest_ = refusal != 0;
  errno = refusal;
  return !must_rest_;
}

/// With the mutex held.
void Reception::stop_watching() {
  if (!std::exchange(watched_, false)) return;
  for (const net::Listener &socket : sockets_)
    for (const auto &worker : workers_) worker->stop_watching(socket);
}

bool Reception::must_rest() {
  const std::lock_guard guard(mutex_);
  return must_rest_;
}

void Reception::close() {
  listening_.store(false, std::memory_order_relaxed);
  const std::lock_guard guard(mutex_);
  stop_watching();
  for (net::Listener &socket : sockets_) socket.close();
}

Reception::Came Reception::accept(net::Listener &socket, Worker &worker, std::unique_ptr<Connection> &connection) {
  const std::lock_guard guard(mutex_);
  if (!watched_) return Came::nobody;
  try {
    // Changed files are read once, so that the client gets the new certificates.
    if (options_.tls != nullptr) options_.tls->refresh();
    net::Fd accepted = socket.accept();
    if (accepted) return deal(std::move(accepted), socket, worker, connection);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Came::nobody;
    if (concerns_one_client(errno) || (is_want_of_resources(errno) && refuse_with_reserve(socket)))
      return Came::elsewhere;
  } catch (const std::bad_alloc &) {
    note_no_memory();
  }
  // The sockets stay readable, so no worker may watch them for a while.
  stop_watching();
  rest();
  return Came::nobody;
}

/// With the mutex held.
void Reception::rest() {
  must_rest_ = true;
  keeper_.wake();
}

/// With the mutex held. Refuses one client with the reserved descriptor, instead of leaving it in the queue for ever.
bool Reception::refuse_with_reserve(net::Listener &socket) {
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed))
    log::warning("%s door: no file descriptor or memory left for a connection (open_files_limit?)",
                 options_.name.c_str());
  reserve_.reset();
  net::Fd refused = socket.accept();
  const bool done = static_cast<bool>(refused);
  if (done) refuse(std::move(refused));
  keep_reserve();
  return done;
}

void Reception::keep_reserve() {
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/// With the mutex held.
Reception::Came Reception::deal(net::Fd accepted, net::Listener &socket, Worker &worker,
                                std::unique_ptr<Connection> &connection) {
  const uint32_t now = connections();
  if (now >= options_.connections_max) {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed))
      log::warning("%s door: refused a connection, %u are open already", options_.name.c_str(), now);
    refuse(std::move(accepted));
    return Came::elsewhere;
  }
  descriptors::Held descriptor = descriptors::Held::take_for_client();
  if (!descriptor) {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed))
      log::warning(
          "%s door: refused a connection: with the %u that all doors have, the file descriptors left are the "
          "server's own (open_files_limit)",
          options_.name.c_str(), descriptors::clients_max());
    refuse(std::move(accepted));
    return Came::elsewhere;
  }
  Worker &least = least_busy(&worker);
  connection = make(least, net::AnyChannel(std::move(accepted)), std::move(descriptor), socket.address().is_unix());
  note_accepted(now + 1);
  if (&least == &worker) {
    worker.count_connection();
    return Came::here;
  }
  least.give(std::move(connection));
  // The kernel wakes the worker that began to watch first: moves this one to the end.
  worker.stop_watching(socket);
  if (!worker.watch(socket)) rest();
  return Came::elsewhere;
}

/// The worker with the fewest connections: `worker` if no other has fewer, or the first of them.
Worker &Reception::least_busy(Worker *worker) const {
  const auto least = std::min_element(workers_.begin(), workers_.end(), [](const auto &left, const auto &right) {
    return left->connections() < right->connections();
  });
  return worker != nullptr && worker->connections() <= (*least)->connections() ? *worker : **least;
}

std::unique_ptr<Connection> Reception::make(Worker &worker, net::AnyChannel channel, descriptors::Held descriptor,
                                            bool local) {
  std::unique_ptr<Connection> made = worker.make_connection(std::move(channel), std::move(descriptor), local, roster_);
  made->listed.enter(engine_.next_number(), made->fd(), local, made->hosted() != nullptr, clock_ms());
  return made;
}

/// Called before its worker has the connection: after that the client may be answered, and read the counters.
void Reception::note_accepted(uint32_t connections) {
  counters_.add(Counter::connections_accepted);
  if (connections > connections_peak()) connections_peak_.store(connections, std::memory_order_relaxed);
}

bool Reception::take(int socket, bool local) {
  const std::lock_guard guard(mutex_);
  const uint32_t now = connections();
  if (!listening() || now >= options_.connections_max) return false;
  descriptors::Held descriptor = descriptors::Held::take_for_client();
  if (!descriptor) return false;
  Worker &least = least_busy(nullptr);
  std::unique_ptr<Connection> connection =
      make(least, net::AnyChannel(std::make_unique<net::LentChannel>(socket, nullptr)), std::move(descriptor), local);
  note_accepted(now + 1);
  least.give(std::move(connection));
  return true;
}

uint32_t Reception::connections() const {
  uint32_t sum = 0;
  for (const auto &worker : workers_) sum += worker->connections();
  return sum;
}

/// With the mutex held.
void Reception::note_no_memory() {
  counters_.add(Counter::connections_refused);
  counters_.add(Failure::out_of_memory);
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed))
    log::warning("%s door: closed a connection for want of memory", options_.name.c_str());
}

/// The client has sent nothing yet, so the answer is in the clear. A TLS client notices that it is not TLS.
void Reception::refuse(net::Fd socket) {
  counters_.add(Counter::connections_refused);
  counters_.add(Failure::too_many_connections);
  net::AnyChannel channel(std::move(socket));
  Output output;
  protocol_.refuse(output, Failure::too_many_connections);
  output.release();
  channel.send(output);
  // Closing a socket with unread bytes would reset the connection.
  ::shutdown(channel.fd(), SHUT_WR);
  Input input;
  channel.receive(input, limits::block_bytes_min - Input::head_bytes);
}

}  // namespace postern::door
