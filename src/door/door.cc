#include "door/door.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "net/lent_channel.h"
#include "net/plain_channel.h"

namespace postern::door {
namespace {

/// Connections accepted before the acceptor looks at anything else.
constexpr int accepts_per_wake = 64;
/// How long the acceptor rests when the process is out of descriptors and cannot even refuse.
constexpr int rest_ms = 100;

/// Whether accept() failed because of a client that has left, or may not come, and not because of this process.
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

/// The port of a TCP listener.
uint16_t bound_port(const net::Listener &listener) {
  sockaddr_in6 bound{};  // has its port where an IPv4 address has it
  socklen_t size = sizeof bound;
  return getsockname(listener.fd(), reinterpret_cast<sockaddr *>(&bound), &size) == 0 ? ntohs(bound.sin6_port) : 0;
}

uint32_t available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace

uint32_t Door::threads_wanted(const Options &options) {
  return options.threads != 0 ? options.threads : options.threads_per_processor * available_processors();
}

uint32_t Door::descriptors_wanted(const Options &options) {
  // A poller and a way to wake it for each thread (the slow lane may have one more), the acceptor and its reserve, what
  // listens, the slow lane's own poller, the watch's timer and how it is woken.
  return 2 * (threads_wanted(options) + options.scan_threads + 1 + options.login_threads + options.script_threads +
              options.committers + 1) +
         6;
}

Door::Door(Options options, Protocol &protocol, Engine &engine, Access access)
    : options_(std::move(options)),
      protocol_(protocol),
      engine_(engine),
      access_(access),
      slow_lane_(options_, engine, access),
      statements_(options_.name + " sql"),
      watch_(options_.name + " watch") {}

Door::~Door() {
  stop();
}

bool Door::start(std::string &error) {
  try {
    return start_all(error);
  } catch (const std::bad_alloc &) {
    stop();
    error = "out of memory";
    return false;
  }
}

bool Door::start_all(std::string &error) {
  if (!bind(error) || (engine_.up() && !listen(error))) {
    listeners_.clear();
    return false;
  }
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const uint32_t threads = threads_wanted(options_);
  descriptors_ = descriptors::Held::take_besides(descriptors_wanted(options_));
  if (access_ == Access::write || options_.statements_write)
    write_lane_ = std::make_unique<WriteLane>(options_, engine_, [this] { note_ready(); });
  const Worker::Context context{
      .options = options_,
      .protocol = protocol_,
      .engine = engine_,
      .slow_lane = slow_lane_,
      .write_lane = write_lane_.get(),
      .statements = statements_,
      .watch = watch_,
      .access = access_,
      .server_stopping =
          [](void *self) {
            Door &door = *static_cast<Door *>(self);
            door.stop_.store(true, std::memory_order_release);
            door.wake_.wake();
          },
      .worker_ready = [](void *self) { static_cast<Door *>(self)->note_ready(); },
      .door = this,
  };
  for (uint32_t i = 1; i <= threads; ++i) workers_.push_back(std::make_unique<Worker>(context, i));
  bool started = slow_lane_.start() && (write_lane_ == nullptr || write_lane_->start());
  for (const auto &worker : workers_) started = started && worker->start();
  started = started && poller_ && poller_.add(wake_.fd(), net::Poller::readable, nullptr);
  started = started && acceptor_.start([](void *self) { static_cast<Door *>(self)->accept_connections(); }, this,
                                       options_.name + " accept");
  if (!started) {
    error =
        "cannot start " + std::to_string(threads) + " worker threads and what goes with them: " + std::strerror(errno);
    stop();
  }
  return started;
}

bool Door::bind(std::string &error) {
  net::ListenOptions options;
  options.backlog = options_.backlog;
  options.unix_mode = options_.unix_mode;
  options.unix_owner = options_.unix_owner;
  options.send_buffer = options_.send_buffer;
  options.receive_buffer = options_.receive_buffer;
  net::Address address;
  if (listens_to_tcp()) {
    if (!net::Address::parse(options_.host, options_.port, address, error)) return false;
    if (!listeners_.emplace_back().bind(address, options, error)) return false;
    port_ = bound_port(listeners_.back());
  }
  if (!options_.unix_path.empty()) {
    if (!net::Address::parse_unix(options_.unix_path, address, error)) return false;
    if (!listeners_.emplace_back().bind(address, options, error)) return false;
  }
  return true;
}

bool Door::listen(std::string &error) {
  for (net::Listener &listener : listeners_) {
    if (!listener.listen(error)) return false;
    if (!poller_.add(listener.fd(), net::Poller::readable, &listener)) {
      error = std::string("cannot watch ") + listener.address().print() + ": " + std::strerror(errno);
      return false;
    }
  }
  listening_.store(true, std::memory_order_relaxed);
  const char *tls = "";
  if (options_.require_tls) tls = ", with TLS only";
  else if (options_.tls != nullptr && options_.tls->loaded()) tls = ", with or without TLS";
  const std::string clients = options_.lets_in.empty() ? "" : ", lets in: " + options_.lets_in;
  if (listens_to_tcp())
    log::note("%s port: listening on %s port %u%s%s", options_.name.c_str(), options_.host.c_str(), port_, tls,
              clients.c_str());
  if (!options_.unix_path.empty())
    log::note("%s socket: listening on %s%s", options_.name.c_str(), options_.unix_path.c_str(), clients.c_str());
  return true;
}

/// Every worker reports that it is ready, and the write lane.
void Door::note_ready() {
  if (ready_.fetch_add(1, std::memory_order_acq_rel) + 1 == ready_wanted()) wake_.wake();
}

size_t Door::ready_wanted() const {
  return workers_.size() + (write_lane_ != nullptr ? 1 : 0);
}

/// Clients may connect when the server is up, not before: they would wait as long as recovery takes, and not know.
void Door::listen_when_ready() {
  if (listening() || stop_.load(std::memory_order_acquire) || ready_.load(std::memory_order_acquire) != ready_wanted())
    return;
  if (std::string error; !listen(error)) {
    log::error("%s port: %s", options_.name.c_str(), error.c_str());
    listeners_.clear();
  }
}

void Door::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  acceptor_.join();
  listeners_.clear();
  // Workers first: then nothing new comes to the slow lane, and connections that return from it are closed there.
  for (const auto &worker : workers_) worker->stop();
  for (const auto &worker : workers_) worker->join();
  watch_.stop();
  if (write_lane_ != nullptr) write_lane_->stop();
  slow_lane_.stop();
  statements_.stop();
}

void Door::spare_caller() {
  statements_.spare_caller();
  for (const auto &worker : workers_) worker->spare_caller();
}

void Door::accept_connections() {
  std::array<epoll_event, 3> events;  // the port's, the unix socket's and the wake's
  const int look_ms = options_.tls != nullptr ? limits::certificates_look_ms : -1;
  while (!stop_.load(std::memory_order_acquire)) {
    const size_t count = poller_.wait(events, look_ms);
    bool must_rest = false;
    try {
      // This thread may read files. It does so before it hands out a client, which gets the new certificates then.
      if (options_.tls != nullptr) options_.tls->refresh();
      for (const epoll_event &event : std::span(events).first(count)) {
        if (event.data.ptr == nullptr) {
          wake_.drain();
          listen_when_ready();
        } else if (!accept_some(*static_cast<net::Listener *>(event.data.ptr))) {
          must_rest = true;
        }
      }
    } catch (const std::bad_alloc &) {
      note_no_memory();
      must_rest = true;
    }
    if (must_rest) {
      // The listeners stay readable, so rest without them, and without needing a descriptor for that.
      pollfd only_stop{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&only_stop, 1, rest_ms);
    }
  }
  // A worker left because the server goes down: new clients must not wait in the kernel's queue for it.
  listening_.store(false, std::memory_order_relaxed);
  for (net::Listener &listener : listeners_) {
    poller_.remove(listener.fd());
    listener.close();
  }
  pool::drain();
}

/// False if a client waits and can be neither accepted nor refused.
bool Door::accept_some(net::Listener &listener) {
  const bool local = listener.address().is_unix();
  for (int i = 0; i < accepts_per_wake; ++i) {
    net::Fd socket = listener.accept();
    if (socket) {
      deal(std::move(socket), local);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return refuse_with_reserve(listener);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    if (!concerns_one_client(errno)) return false;
  }
  return true;
}

/// Refuses one client with the descriptor kept for that, instead of leaving it in the queue for ever.
bool Door::refuse_with_reserve(net::Listener &listener) {
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed))
    log::warning("%s door: no file descriptor or memory left for a connection (open_files_limit?)",
                 options_.name.c_str());
  reserve_.reset();
  net::Fd refused = listener.accept();
  const bool done = static_cast<bool>(refused);
  if (done) refuse(std::move(refused));
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return done;
}

void Door::deal(net::Fd socket, bool local) {
  const uint32_t now = connections();
  if (now >= options_.connections_max) {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed))
      log::warning("%s door: refused a connection, %u are open already", options_.name.c_str(), now);
    return refuse(std::move(socket));
  }
  descriptors::Held descriptor = descriptors::Held::take_for_client();
  if (!descriptor) {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed))
      log::warning(
          "%s door: refused a connection: with the %u that all doors have, the file descriptors left are the "
          "server's own (open_files_limit)",
          options_.name.c_str(), descriptors::clients_max());
    return refuse(std::move(socket));
  }
  const auto least = std::min_element(workers_.begin(), workers_.end(), [](const auto &left, const auto &right) {
    return left->connections() < right->connections();
  });
  std::unique_ptr<Connection> connection =
      (*least)->make_connection(std::make_unique<net::PlainChannel>(std::move(socket)), std::move(descriptor), local);
  list(*connection);
  // Counted first: once the worker has it, the client may be answered and look.
  counters_.add(Counter::connections_accepted);
  if (now + 1 > connections_peak()) connections_peak_.store(now + 1, std::memory_order_relaxed);
  (*least)->give(std::move(connection));
}

void Door::list(Connection &connection) {
  connection.listed.enter(*roster_, engine_.next_number(), connection.fd(), connection.local(),
                          connection.hosted() != nullptr, clock_ms());
}

bool Door::take(int socket, bool local) {
  const uint32_t now = connections();
  if (!listening() || now >= options_.connections_max) return false;
  descriptors::Held descriptor = descriptors::Held::take_for_client();
  if (!descriptor) return false;
  const auto least = std::min_element(workers_.begin(), workers_.end(), [](const auto &left, const auto &right) {
    return left->connections() < right->connections();
  });
  std::unique_ptr<Connection> connection =
      (*least)->make_connection(std::make_unique<net::LentChannel>(socket, nullptr), std::move(descriptor), local);
  list(*connection);
  taken_.add(Counter::connections_accepted);
  if (now + 1 > connections_peak()) connections_peak_.store(now + 1, std::memory_order_relaxed);
  (*least)->give(std::move(connection));
  return true;
}

void Door::note_no_memory() {
  counters_.add(Counter::connections_refused);
  counters_.add(Failure::out_of_memory);
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed))
    log::warning("%s door: closed a connection for want of memory", options_.name.c_str());
}

/// Nothing is known of the client yet, so the answer is in the clear. A client that speaks TLS sees that this is not
/// TLS.
void Door::refuse(net::Fd socket) {
  counters_.add(Counter::connections_refused);
  counters_.add(Failure::too_many_connections);
  net::PlainChannel channel(std::move(socket));
  Output output;
  protocol_.refuse(output, Failure::too_many_connections);
  output.release();
  channel.send(output);
  // Closed with bytes unread, a socket shows its peer that the connection broke.
  ::shutdown(channel.fd(), SHUT_WR);
  Input input;
  channel.receive(input, limits::block_bytes_min);
}

void Door::change(const Options &options) {
  options_.take_changes(options);
  for (const auto &worker : workers_) worker->look_again();
}

uint32_t Door::connections() const {
  uint32_t sum = 0;
  for (const auto &worker : workers_) sum += worker->connections();
  return sum;
}

void Door::add_counters(Counters &sum) const {
  sum.absorb(counters_);
  sum.absorb(taken_);
  slow_lane_.add_counters(sum);
  if (write_lane_ != nullptr) write_lane_->add_counters(sum);
  statements_.add_counters(sum);
  for (const auto &worker : workers_) worker->add_counters(sum);
}

Crew::Figures Door::figures() const {
  Crew::Figures sum;
  for (const auto &worker : workers_) worker->add_figures(sum);
  return sum;
}

void Door::add_latencies(Latencies &sum) const {
  for (const auto &worker : workers_) worker->add_latencies(sum);
  if (write_lane_ != nullptr) write_lane_->add_latencies(sum);
}

}  // namespace postern::door
