// load: asks a door on this machine as fast as it answers, and says how fast that is.
//
//   load --port 9998 --connections 50 --depth 1 --seconds 5 --max 1000000
//        --open 'P\t1\ttest\tuser\tPRIMARY\tuser_name,user_email,created' --request '1\t=\t1\t{key}'
//
// One thread, closed loop: each connection keeps --depth requests under way. {key} is a number drawn uniformly from
// 1 to --max. In both texts \t and \n mean a tab and a line end; a line end is added. Every reply must be one line that
// begins with --expect (default `0\t`); others are counted as errors. Latency is from a request's send to its reply,
// in a closed loop that waits for slow replies: it flatters a server that stalls.
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/poller.h"

namespace postern {
namespace {

struct Options {
  std::string host = "127.0.0.1";
  uint64_t port = 0;
  std::string unix_path{};
  uint64_t connections = 50;
  uint64_t depth = 1;
  uint64_t seconds = 5;
  uint64_t max = 1'000'000;
  std::string open{};
  std::string request = "1\t=\t1\t{key}";
  std::string expect = "0\t";
};

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "load: %s\n", text.c_str());
  std::exit(2);
}

std::string unescape(Bytes text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == 't' || next == 'n') {
      plain += next == 't' ? '\t' : '\n';
      ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

uint64_t number(const char *text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (!parse_natural(text, value) || value < least || value > most)
    fail(std::string(text) + " is not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

Options parse(int argc, char **argv) {
  static constexpr option names[] = {{"host", required_argument, nullptr, 'h'},
                                     {"port", required_argument, nullptr, 'p'},
                                     {"unix", required_argument, nullptr, 'u'},
                                     {"connections", required_argument, nullptr, 'c'},
                                     {"depth", required_argument, nullptr, 'd'},
                                     {"seconds", required_argument, nullptr, 's'},
                                     {"max", required_argument, nullptr, 'm'},
                                     {"open", required_argument, nullptr, 'o'},
                                     {"request", required_argument, nullptr, 'r'},
                                     {"expect", required_argument, nullptr, 'e'},
                                     {nullptr, 0, nullptr, 0}};
  Options options;
  for (int name; (name = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (name) {
      case 'h': options.host = optarg; break;
      case 'p': options.port = number(optarg, 1, 65'535); break;
      case 'u': options.unix_path = optarg; break;
      case 'c': options.connections = number(optarg, 1, 20'000); break;
      case 'd': options.depth = number(optarg, 1, 1'000); break;
      case 's': options.seconds = number(optarg, 1, 600); break;
      case 'm': options.max = number(optarg, 1, UINT64_MAX); break;
      case 'o': options.open = unescape(optarg) + "\n"; break;
      case 'r': options.request = unescape(optarg); break;
      case 'e': options.expect = unescape(optarg); break;
      default: fail("unknown option; bench/load.cc begins with the known ones");
    }
  }
  if (optind != argc || (options.port == 0 && options.unix_path.empty())) fail("--port or --unix is needed");
  return options;
}

int64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// xorshift64*: a random number must not cost what a request costs.
class Random {
 public:
  uint64_t up_to(uint64_t most) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return 1 + static_cast<uint64_t>((static_cast<unsigned __int128>(state_ * 0x2545F4914F6CDD1DULL) * most) >> 64);
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

/// Latencies in buckets that are 1/16 of their power of two wide.
class Histogram {
 public:
  void add(int64_t ns) {
    ++buckets_[bucket(static_cast<uint64_t>(std::max<int64_t>(ns, 16)))];
    ++count_;
  }
  double quantile_us(double part) const {
    auto left = static_cast<uint64_t>(part * static_cast<double>(count_));
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (left < buckets_[i]) return static_cast<double>((16 + i % 16) << (i / 16)) / 1000;
      left -= buckets_[i];
    }
    return 0;
  }

 private:
  static size_t bucket(uint64_t ns) {
    const int shift = 63 - __builtin_clzll(ns) - 4;
    return static_cast<size_t>(shift) * 16 + ((ns >> shift) - 16);
  }
  std::vector<uint64_t> buckets_ = std::vector<uint64_t>(60 * 16);
  uint64_t count_ = 0;
};

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {
    const size_t at = options_.request.find("{key}");
    head_ = options_.request.substr(0, at) + (at == std::string::npos ? "\n" : "");
    if (at != std::string::npos) tail_ = options_.request.substr(at + 5) + "\n";
    has_key_ = at != std::string::npos;
  }

  int run() {
    for (uint64_t i = 0; i < options_.connections; ++i) connect();
    const int64_t begin = clock_ns();
    const int64_t end = begin + static_cast<int64_t>(options_.seconds) * 1'000'000'000;
    for (const auto &connection : connections_) ask(*connection, options_.depth);
    std::vector<epoll_event> events(1024);
    int64_t now = begin;
    while (now < end) {
      const size_t count = poller_.wait(events, static_cast<int>((end - now) / 1'000'000) + 1);
      for (size_t i = 0; i < count; ++i) hear(*static_cast<Connection *>(events[i].data.ptr));
      now = clock_ns();
    }
    return report(static_cast<double>(now - begin) / 1e9);
  }

 private:
  struct Connection {
    net::Fd fd;
    std::deque<int64_t> asked;  // when, for each request under way
    std::string partial;        // of a reply
  };

  void connect() {
    net::Address address;
    std::string error;
    const bool known = options_.unix_path.empty()
                           ? net::Address::parse(options_.host, static_cast<uint16_t>(options_.port), address, error)
                           : net::Address::parse_unix(options_.unix_path, address, error);
    if (!known) fail(error);
    if (!address.is_loopback()) fail("only this machine's doors are loaded, not " + address.print());
    auto connection = std::make_unique<Connection>();
    connection->fd.reset(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = connection->fd.get();
    if (::connect(fd, address.get(), address.size()) != 0)
      fail("connect " + address.print() + ": " + std::strerror(errno));
    const int one = 1;
    if (!address.is_unix()) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!options_.open.empty()) {
      send(*connection, options_.open);
      char reply[1024];
      const ssize_t got = ::recv(fd, reply, sizeof reply, 0);
      if (got < 2 || reply[0] != '0')
        fail("the open was answered: " + std::string(reply, got > 0 ? static_cast<size_t>(got) : 0));
    }
    if (!poller_.add(fd, net::Poller::readable, connection.get())) fail(std::string("epoll: ") + std::strerror(errno));
    connections_.push_back(std::move(connection));
  }

  static void send(const Connection &connection, Bytes text) {
    while (!text.empty()) {
      const ssize_t put = ::send(connection.fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (put <= 0) fail(std::string("send: ") + std::strerror(errno));
      text.remove_prefix(static_cast<size_t>(put));
    }
  }

  void ask(Connection &connection, uint64_t count) {
    out_.clear();
    const int64_t now = clock_ns();
    for (uint64_t i = 0; i < count; ++i) {
      out_ += head_;
      if (has_key_) {
        char key[20];
        out_.append(key, print_natural(key, random_.up_to(options_.max)));
        out_ += tail_;
      }
      connection.asked.push_back(now);
    }
    send(connection, out_);
  }

  void hear(Connection &connection) {
    const ssize_t got = ::recv(connection.fd.get(), in_, sizeof in_, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) fail("a connection was closed by the door");
    const int64_t now = clock_ns();
    Bytes bytes(in_, static_cast<size_t>(got));
    if (!connection.partial.empty()) {
      connection.partial += bytes;
      bytes = connection.partial;
    }
    uint64_t heard = 0;
    for (size_t end; (end = bytes.find('\n')) != Bytes::npos; bytes.remove_prefix(end + 1)) {
      if (connection.asked.empty()) fail("more replies than requests");
      latency_.add(now - connection.asked.front());
      connection.asked.pop_front();
      ++replies_;
      if (!bytes.starts_with(options_.expect)) note_error(bytes.substr(0, end));
      ++heard;
    }
    connection.partial = std::string(bytes);
    if (heard != 0) ask(connection, heard);
  }

  void note_error(Bytes line) {
    if (errors_++ == 0)
      std::fprintf(stderr, "load: first unexpected reply: %.*s\n", static_cast<int>(line.size()), line.data());
  }

  int report(double seconds) const {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    std::printf("requests_per_second=%.0f requests=%lu errors=%lu p50_us=%.1f p99_us=%.1f client_cpu=%.0f%%\n",
                static_cast<double>(replies_) / seconds, static_cast<unsigned long>(replies_),
                static_cast<unsigned long>(errors_), latency_.quantile_us(0.5), latency_.quantile_us(0.99),
                100 * cpu / seconds);
    return errors_ == 0 && replies_ != 0 ? 0 : 1;
  }

  const Options options_;
  std::string head_;
  std::string tail_;
  bool has_key_ = false;
  net::Poller poller_;
  Random random_;
  Histogram latency_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::string out_;
  uint64_t replies_ = 0;
  uint64_t errors_ = 0;
  char in_[256 << 10];
};

}  // namespace
}  // namespace postern

int main(int argc, char **argv) {
  return std::make_unique<postern::Load>(postern::parse(argc, argv))->run();
}
