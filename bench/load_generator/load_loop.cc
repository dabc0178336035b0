#include "load_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "net/address.h"
#include "net/fd.h"
#include "net/poller.h"

namespace postern::bench {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
/// The time limit for answers in flight at the end.
constexpr int64_t drain_ns = 10 * second_ns;
/// The time limit for a server's answer while a connection opens.
constexpr int opening_seconds = 30;
constexpr size_t receive_bytes = 256 << 10;
constexpr size_t shown_bytes = 200;

int64_t clock_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * second_ns + now.tv_nsec;
}

/// Requests in flight, in order. Their vectors of keys are reused.
class Line {
 public:
  Request &add() {
    if (size_ == ring_.size()) grow();
    return ring_[(first_ + size_++) % ring_.size()];
  }
  const Request &first() const { return ring_[first_]; }
  void drop() {
    first_ = (first_ + 1) % ring_.size();
    --size_;
  }
  size_t size() const { return size_; }

 private:
  void grow() {
    std::vector<Request> larger(std::max<size_t>(4, ring_.size() * 2));
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Request> ring_{};
  size_t first_ = 0;
  size_t size_ = 0;
};

struct Client;

struct Connection {
  net::Fd fd{};
  Client *client = nullptr;
  Opened opened{};
  Line line{};
  std::string out{};      // unsent
  std::string partial{};  // an answer's
  bool armed = false;     // waits to become writable
};

/// Reads and writes share a connection if the door has one port for both.
struct Client {
  Connection read{};
  Connection write{};
  bool apart = false;
  Connection &connection_for(Kind kind) { return apart && is_write(kind) ? write : read; }
};

class Run {
 public:
  Run(const Options &options, Result &result)
      : options_(options), result_(result), random_(options.seed), next_insert_(options.insert_from) {
    plan_.shape = options.shape;
    for (size_t kind = 0; kind < kinds; ++kind) plan_.asks[kind] = options.mix[kind] != 0;
    protocol_ = make_protocol(options.protocol, plan_);
    if (options.zipfian) zipfian_ = std::make_unique<Zipfian>(options.max);
    in_.resize(receive_bytes);
  }

  bool go(std::string &error) {
    use_every_descriptor();
    clients_.resize(options_.clients);
    for (Client &client : clients_) {
      if (!connect(client, error)) return false;
    }
    if (options_.idle != 0 && !connect_idle(error)) return false;
    if (options_.server_pid != 0 && clock_getcpuclockid(options_.server_pid, &server_clock_) != 0) {
      error_ = "there is no process " + std::to_string(options_.server_pid);
    } else {
      loop();
    }
    error = error_;
    return error.empty();
  }

 private:
  bool connect(Client &client, std::string &error) {
    Use use;
    for (size_t kind = 0; kind < kinds; ++kind) {
      if (plan_.asks[kind]) (is_write(static_cast<Kind>(kind)) ? use.writes : use.reads) = true;
    }
    client.apart = use.reads && use.writes && options_.write_place.given();
    if (client.apart)
      return open(client.read, client, options_.place, {.reads = true}, error) &&
             open(client.write, client, options_.write_place, {.writes = true}, error);
    const bool to_write_place = use.writes && options_.write_place.given();
    return open(client.read, client, to_write_place ? options_.write_place : options_.place, use, error);
  }

  static void use_every_descriptor() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  /// They are not in the poller: the server sends them nothing.
  bool connect_idle(std::string &error) {
    const uint64_t memory = server_memory();
    idle_.resize(options_.idle);
    for (Connection &connection : idle_) {
      if (!open(connection, options_.place, {.reads = options_.idle_as != Idle::connected}, error)) return false;
      if (options_.idle_as == Idle::used && !find_once(connection, error)) return false;
    }
    // The kernel completes a connect before the server accepts. The clients' descriptors count, too.
    if (options_.server_pid == 0) return true;
    const int64_t give_up = clock_ns() + drain_ns;
    while (server_descriptors() < options_.clients + options_.idle) {
      if (clock_ns() > give_up) {
        error = "the server does not take " + std::to_string(options_.idle) + " connections more";
        return false;
      }
      timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
      nanosleep(&moment, nullptr);
    }
    const auto more = static_cast<double>(server_memory()) - static_cast<double>(memory);
    result_.idle_server_bytes = more / static_cast<double>(options_.idle);
    return true;
  }

  /// All find the same row, so that caching of the table does not count as memory of connections.
  bool find_once(Connection &connection, std::string &error) {
    const Request request;
    std::string out;
    protocol_->ask(request, connection.opened, out);
    Talk talk(connection.fd.get());
    for (bool there = talk.send(out); there; there = talk.read_more()) {
      const Heard answer = protocol_->hear(talk.received(), request);
      if (answer.verdict == Verdict::more) continue;
      if (answer.verdict == Verdict::right) return true;
      break;
    }
    error = "a silent connection's find was not answered rightly: " + talk_shown(talk);
    return false;
  }
  static std::string talk_shown(const Talk &talk) { return std::string(talk.received().substr(0, shown_bytes)); }

  /// The process's private bytes without files, from the kernel's page tables, because its counters are not exact.
  uint64_t server_memory() const {
    std::ifstream file("/proc/" + std::to_string(options_.server_pid) + "/smaps_rollup");
    uint64_t kib = 0;
    for (std::string word; file >> word;) {
      if (word == "Anonymous:") file >> kib;
    }
    return kib << 10;
  }
  uint64_t server_descriptors() const {
    std::error_code failed;
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(options_.server_pid) + "/fd", failed);
    return failed ? 0 : static_cast<uint64_t>(std::distance(begin(all), end(all)));
  }

  bool open(Connection &connection, Client &client, const Place &place, Use use, std::string &error) {
    connection.client = &client;
    if (!open(connection, place, use, error)) return false;
    if (poller_.add(connection.fd.get(), net::Poller::readable, &connection)) return true;
    error = std::string("epoll: ") + std::strerror(errno);
    return false;
  }

  bool open(Connection &connection, const Place &place, Use use, std::string &error) {
    net::Address address;
    if (place.unix_path.empty() ? !net::Address::parse(place.host, static_cast<uint16_t>(place.port), address, error)
                                : !net::Address::parse_unix(place.unix_path, address, error))
      return false;
    if (!address.is_loopback()) {
      error = "only this machine's doors are loaded, not " + address.print();
      return false;
    }
    connection.fd.reset(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = connection.fd.get();
    if (::connect(fd, address.get(), address.size()) != 0) {
      error = "connect " + address.print() + ": " + std::strerror(errno);
      return false;
    }
    const int one = 1;
    // The kernel also connects to a server that accepts no longer.
    const timeval patience{.tv_sec = opening_seconds, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!address.is_unix()) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Talk talk(fd);
    return protocol_->begin(talk, use, connection.opened, error);
  }

  void loop() {
    const int64_t start = clock_ns();
    from_ = start + static_cast<int64_t>(options_.warm_up * second_ns);
    until_ = from_ + static_cast<int64_t>(options_.seconds * second_ns);
    if (options_.count != 0) until_ = INT64_MAX - drain_ns;
    now_ = start;
    next_due_ = start;
    if (options_.rate == 0) {
      for (Client &client : clients_) ask(client, options_.depth);
    }
    flush();
    std::vector<epoll_event> events(1024);
    for (bool measuring = false; error_.empty();) {
      if (!measuring && now_ >= from_) {
        measuring = true;
        begin_measuring();
      }
      if (options_.rate != 0) ask_what_is_due();
      if (now_ >= until_ || (options_.count != 0 && asked_ >= options_.count)) break;
      wait(events, until_);
    }
    end_measuring();
    stopping_ = true;
    const int64_t give_up = now_ + drain_ns;
    while (error_.empty() && under_way_ != 0 && now_ < give_up) wait(events, give_up);
    result_.unanswered = under_way_;
    if (options_.count != 0) result_.seconds = seconds_since(start);
  }

  void begin_measuring() {
    measured_from_ = now_;
    client_cpu_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    server_cpu_ = server_cpu();
    result_.answers = result_.rows = 0;
    result_.latency.clear();
    result_.overtaken.clear();
  }
  void end_measuring() {
    result_.seconds = seconds_since(measured_from_);
    result_.client_cpu_seconds = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - client_cpu_) / second_ns;
    result_.server_cpu_seconds = static_cast<double>(server_cpu() - server_cpu_) / second_ns;
  }
  int64_t server_cpu() const { return options_.server_pid == 0 ? 0 : clock_ns(server_clock_); }
  double seconds_since(int64_t begin) const { return static_cast<double>(now_ - begin) / second_ns; }

  /// At a fixed rate the loop never sleeps, because a late wake-up would count as the server's latency.
  void wait(std::vector<epoll_event> &events, int64_t end) {
    const bool sleeps = options_.rate == 0 || stopping_;
    const int timeout_ms = sleeps ? static_cast<int>(std::min<int64_t>((end - now_) / 1'000'000 + 1, 1000)) : 0;
    const size_t count = poller_.wait(events, timeout_ms);
    now_ = clock_ns();
    for (size_t i = 0; i < count && error_.empty(); ++i) {
      auto &connection = *static_cast<Connection *>(events[i].data.ptr);
      if ((events[i].events & ~uint32_t{net::Poller::writable}) != 0) hear(connection);
      if ((events[i].events & net::Poller::writable) != 0) send(connection);
      flush();
    }
  }

  /// Includes requests that were due before the end and are sent after it, because other processes had the processor.
  void ask_what_is_due() {
    while (next_due_ <= now_ && next_due_ < static_cast<double>(until_)) {
      const auto due = static_cast<int64_t>(next_due_);
      ask(clients_[turn_++ % clients_.size()], 1, due);
      next_due_ += second_ns / options_.rate;
    }
    flush();
  }

  void ask(Client &client, uint64_t requests) { ask(client, requests, now_); }
  void ask(Client &client, uint64_t requests, int64_t due) {
    for (uint64_t i = 0; i < requests; ++i) {
      if (stopping_ || (options_.count != 0 && asked_ >= options_.count)) return;
      ++asked_;
      const Kind kind = draw_kind();
      Connection &connection = client.connection_for(kind);
      Request &request = connection.line.add();
      request.kind = kind;
      request.due_ns = due;
      request.answers_before = answers_ + connection.line.size() - 1;
      fill(request);
      if (connection.out.empty()) to_flush_.push_back(&connection);
      protocol_->ask(request, connection.opened, connection.out);
      ++under_way_;
    }
  }

  Kind draw_kind() {
    uint64_t left = random_.up_to(100);
    for (size_t kind = 0; kind < kinds; ++kind) {
      if (left <= options_.mix[kind]) return static_cast<Kind>(kind);
      left -= options_.mix[kind];
    }
    return Kind::find;
  }

  void fill(Request &request) {
    request.version = request.kind == Kind::update ? 1 + ((random_.next() ^ salt_) >> 40) : 0;
    switch (request.kind) {
      case Kind::insert: request.key = next_insert_++; break;
      case Kind::scan: request.key = random_.up_to(options_.max - options_.shape.scan_rows + 1); break;
      case Kind::multi:
        request.keys.clear();
        while (request.keys.size() < options_.shape.multi_keys) {
          const uint64_t key = draw_key();
          if (std::find(request.keys.begin(), request.keys.end(), key) == request.keys.end())
            request.keys.push_back(key);
        }
        break;
      case Kind::find:
      case Kind::update:
      case Kind::increment:
      case Kind::zero: request.key = draw_key(); break;
    }
  }
  uint64_t draw_key() {
    if (options_.sequential) return 1 + next_key_++ % options_.max;
    return zipfian_ ? zipfian_->draw(random_) : random_.up_to(options_.max);
  }

  void flush() {
    for (Connection *connection : to_flush_) {
      if (!connection->armed) send(*connection);
    }
    to_flush_.clear();
  }

  void send(Connection &connection) {
    size_t sent = 0;
    while (sent < connection.out.size()) {
      const ssize_t put = ::send(connection.fd.get(), connection.out.data() + sent, connection.out.size() - sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno == EAGAIN) break;
      if (put <= 0) return fail(std::string("send: ") + std::strerror(errno));
      sent += static_cast<size_t>(put);
    }
    connection.out.erase(0, sent);
    const bool full = !connection.out.empty();
    if (full == connection.armed) return;
    connection.armed = full;
    const uint32_t events = net::Poller::readable | (full ? uint32_t{net::Poller::writable} : 0);
    if (!poller_.change(connection.fd.get(), events, &connection)) fail("epoll");
  }

  void hear(Connection &connection) {
    const ssize_t got = ::recv(connection.fd.get(), in_.data(), in_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return fail("the server closed a connection");
    now_ = clock_ns();
    Bytes bytes(in_.data(), static_cast<size_t>(got));
    if (!connection.partial.empty()) {
      connection.partial += bytes;
      if (!protocol_->may_end(bytes)) return;
      bytes = connection.partial;
    }
    uint64_t heard = 0;
    while (!bytes.empty()) {
      if (connection.line.size() == 0) return fail("an answer to no request");
      const Request &request = connection.line.first();
      const Heard answer = protocol_->hear(bytes, request);
      if (answer.verdict == Verdict::more) break;
      ++answers_;
      note(answer, bytes, request);
      bytes.remove_prefix(answer.bytes);
      connection.line.drop();
      --under_way_;
      ++heard;
    }
    if (bytes.data() != connection.partial.data() || bytes.size() != connection.partial.size())
      connection.partial = std::string(bytes);
    if (options_.rate == 0) ask(*connection.client, heard);
  }

  void note(const Heard &answer, Bytes bytes, const Request &request) {
    switch (answer.verdict) {
      case Verdict::right:
        ++result_.acknowledged[static_cast<size_t>(request.kind)];
        // At a fixed rate requests that were due in the measured time count, however late they were sent.
        if (options_.rate == 0 ? stopping_ : request.due_ns < from_ || request.due_ns >= until_) break;
        ++result_.answers;
        result_.rows += rows_of(request, options_.shape);
        result_.latency.add(now_ - request.due_ns);
        result_.overtaken.add(static_cast<int64_t>(answers_ - request.answers_before) - 1);
        break;
      case Verdict::wrong:
        if (result_.wrong++ == 0) result_.first_wrong = shown(answer, bytes);
        break;
      case Verdict::refused:
        if (result_.refused++ == 0) result_.first_refused = shown(answer, bytes);
        break;
      case Verdict::more: break;
    }
  }
  static std::string shown(const Heard &answer, Bytes bytes) {
    return std::string(bytes.substr(0, std::min(answer.bytes, shown_bytes)));
  }

  void fail(const std::string &text) {
    if (error_.empty()) error_ = text;
  }

  const Options &options_;
  Result &result_;
  Plan plan_{};
  std::unique_ptr<Protocol> protocol_{};
  Random random_;
  // Runs with the same seed use the same keys and write other names, because an update that changes nothing costs less.
  const uint64_t salt_ = Random(static_cast<uint64_t>(clock_ns(CLOCK_REALTIME))).next();
  std::unique_ptr<Zipfian> zipfian_{};
  net::Poller poller_{};
  std::vector<Client> clients_{};
  std::vector<Connection> idle_{};
  std::vector<Connection *> to_flush_{};
  std::string in_{};
  std::string error_{};
  clockid_t server_clock_ = 0;
  bool stopping_ = false;
  uint64_t asked_ = 0;
  uint64_t answers_ = 0;
  uint64_t under_way_ = 0;
  uint64_t next_insert_;
  uint64_t next_key_ = 0;
  uint64_t turn_ = 0;
  double next_due_ = 0;
  int64_t now_ = 0;
  int64_t from_ = 0;
  int64_t until_ = 0;
  int64_t measured_from_ = 0;
  int64_t client_cpu_ = 0;
  int64_t server_cpu_ = 0;
};

}  // namespace

bool run(const Options &options, Result &result, std::string &error) {
  return std::make_unique<Run>(options, result)->go(error);
}

}  // namespace postern::bench
