// lone_client: sends statements or commands to two ports of one server in turn, and measures the server's processor
// time for each and the client's wait. The program of bench/lone, which describes the measurement.
//
//   lone_client PID PLACE PLACE CLIENTS WINDOWS MICROSECONDS WORD ...
//
// A place is a port, or the path of a unix socket. Each word is the text of a statement, or #HEX for another command;
// they are sent one after the other, with the client's number for {client}. With the word `visit` before them clients
// connect and quit each time; `change` alone is COM_CHANGE_USER. Several clients each ask again when they are answered;
// for `visit` and `change` all send, then all read. A window of so many microseconds at one place follows one at the
// other. Prints a line of JSON: for each place the microseconds of processor time of each window's mean command, and
// percentiles of the wait.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "net/fd.h"
#include "net/poller.h"

namespace postern::bench {
namespace {

constexpr Bytes user = "visitor";
constexpr Bytes password = "its password";
constexpr Bytes method("mysql_native_password\0", 22);
constexpr size_t header_bytes = 4;
constexpr size_t scramble_bytes = SHA_DIGEST_LENGTH;
constexpr double warm_up_us = 50'000;
/// The server may still be working after its answers have come.
constexpr useconds_t settles_us = 300;

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "lone_client: %s\n", text.c_str());
  std::exit(1);
}

uint64_t number(const std::string &text) {
  uint64_t value = 0;
  if (!parse_natural(text, value)) fail(text + " is not a number");
  return value;
}

double clock_us(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

using Digest = std::array<unsigned char, SHA_DIGEST_LENGTH>;

Digest digest_of(Bytes bytes) {
  Digest digest{};
  SHA1(reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(), digest.data());
  return digest;
}
Bytes bytes_of(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

std::string proof_of(const std::string &scramble) {
  const Digest once = digest_of(password);
  const Digest mixed = digest_of(scramble + std::string(bytes_of(digest_of(bytes_of(once)))));
  std::string proof(once.size(), '\0');
  for (size_t i = 0; i < proof.size(); ++i) proof[i] = static_cast<char>(once[i] ^ mixed[i]);
  return proof;
}

class Client {
 public:
  void connect(const std::string &place) {
    const bool local = place.starts_with('/');
    socket_.reset(::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    if (!local) setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!(local ? connect_local(place) : connect_tcp(static_cast<uint16_t>(number(place))))) fail("cannot connect");
    received_.clear();
    given_ = 0;
  }
  void log_in() {
    const Bytes greeting = next_packet();
    const size_t version_end = greeting.find('\0', header_bytes + 1);
    scramble_ = greeting.substr(version_end + 5, 8);
    scramble_ += greeting.substr(version_end + 32, 12);
    // Protocol 4.1, with a database, transactions, a proof of 20 bytes and the name of its method.
    std::string answer("\x09\xa2\x08\0\0\0\0\1\x2d", 9);
    answer.append(23, '\0');
    send(answer + identity() + std::string(method), 1);
  }
  void end_login() {
    Bytes answer = next_packet();
    if (answer[header_bytes] == '\xfe') {
      scramble_ = answer.substr(answer.find('\0', header_bytes) + 1, scramble_bytes);
      send(proof_of(scramble_), static_cast<char>(answer[3] + 1));
      answer = next_packet();
    }
    if (answer[header_bytes] != '\0') fail("refused: " + std::string(answer));
  }
  void change_user() { send("\x11" + identity() + std::string("\x2d\0", 2) + std::string(method), 0); }
  void quit() { send("\1", 0); }
  void end_quit() {
    char byte = 0;
    if (::recv(fd(), &byte, 1, 0) != 0) fail("the server did not close");
    socket_.reset();
  }

  void ask(Bytes payload) { send(payload, 0); }
  /// Reads one answer to its end.
  void end_answer() {
    Bytes packet = next_packet();
    if (packet[header_bytes] == '\xff') fail("an error: " + std::string(packet.substr(header_bytes)));
    constexpr size_t end_bytes_max = 13;
    for (int ends = packet[header_bytes] != '\0' ? 2 : 0; ends != 0;) {
      packet = next_packet();
      if (packet[header_bytes] == '\xfe' && packet.size() < end_bytes_max) --ends;
    }
  }
  int fd() const { return socket_.get(); }

  std::vector<std::string> payloads{};
  // Of a closed loop.
  size_t step = 0;
  double asked_us = 0;

 private:
  bool connect_tcp(uint16_t port) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
  }
  bool connect_local(const std::string &path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(fd(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
  }
  std::string identity() const {
    std::string text(user);
    text += '\0';
    text += static_cast<char>(scramble_bytes);
    return text + proof_of(scramble_) + std::string("test\0", 5);
  }
  void send(Bytes payload, char number) {
    std::string packet;
    for (size_t i = 0; i < 3; ++i) packet += static_cast<char>(payload.size() >> (8 * i));
    packet += number;
    packet += payload;
    if (::send(fd(), packet.data(), packet.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(packet.size()))
      fail("cannot send");
  }
  /// With its header; valid until the next call.
  Bytes next_packet() {
    received_.erase(0, given_);
    given_ = 0;
    while (received_.size() < header_bytes || received_.size() < size_of_first()) {
      char buffer[1 << 16];
      const ssize_t got = ::recv(fd(), buffer, sizeof buffer, 0);
      if (got <= 0) fail("the server closed a connection");
      received_.append(buffer, static_cast<size_t>(got));
    }
    given_ = size_of_first();
    return Bytes(received_).substr(0, given_);
  }
  size_t size_of_first() const {
    size_t size = 0;
    for (size_t i = 0; i < 3; ++i) size |= size_t{static_cast<unsigned char>(received_[i])} << (8 * i);
    return header_bytes + size;
  }

  net::Fd socket_;
  std::string received_;
  size_t given_ = 0;
  std::string scramble_;
};

/// The commands that each client sends again and again.
struct Work {
  enum class Kind : uint8_t { visits, changes, commands } kind = Kind::commands;
  std::vector<std::string> words{};
};

std::string payload_of(Bytes word, size_t client) {
  std::string payload;
  if (!word.starts_with('#')) {
    constexpr Bytes number = "{client}";
    payload = '\x03' + std::string(word);
    if (const size_t at = payload.find(number); at != std::string::npos)
      payload.replace(at, number.size(), std::to_string(client));
    return payload;
  }
  for (size_t at = 1; at + 1 < word.size(); at += 2)
    payload += static_cast<char>(std::strtol(std::string(word.substr(at, 2)).c_str(), nullptr, 16));
  return payload;
}

Work work_of(std::vector<std::string> words) {
  if (words[0] == "change") return {.kind = Work::Kind::changes};
  if (words[0] != "visit") return {.kind = Work::Kind::commands, .words = std::move(words)};
  words.erase(words.begin());
  return {.kind = Work::Kind::visits, .words = std::move(words)};
}

/// One place with its clients and its measurements.
class Side {
 public:
  Side(std::string place, size_t clients, const Work &work) : place_(std::move(place)), work_(work), clients_(clients) {
    for (Client &client : clients_) {
      for (const std::string &word : work_.words)
        client.payloads.push_back(payload_of(word, static_cast<size_t>(&client - clients_.data()) + 1));
      if (work_.kind == Work::Kind::visits) continue;
      client.connect(place_);
      client.log_in();
      client.end_login();
      if (!poller_.add(client.fd(), net::Poller::readable, &client)) fail("epoll");
    }
  }

  void run_window(double microseconds, clockid_t server) {
    const double cost = clock_us(server);
    const double until = clock_us() + microseconds;
    done_ = 0;
    if (work_.kind == Work::Kind::commands && clients_.size() > 1) run_closed_loop(until);
    while (done_ == 0 || clock_us() < until) run_round();
    usleep(settles_us);
    costs_.push_back((clock_us(server) - cost) / static_cast<double>(done_));
  }
  void forget() {
    costs_.clear();
    waits_.clear();
  }

  void print(const char *name) {
    std::sort(waits_.begin(), waits_.end());
    std::printf("\"%s\": {\"cost_us\": [", name);
    for (const double &cost : costs_) std::printf("%s%.3f", &cost == costs_.data() ? "" : ", ", cost);
    std::printf("], \"p50_us\": %.2f, \"p99_us\": %.2f, \"waits\": %zu}", quantile(0.5), quantile(0.99), waits_.size());
  }

 private:
  double quantile(double part) const {
    return waits_[static_cast<size_t>(part * static_cast<double>(waits_.size() - 1))];
  }

  void run_round() {
    switch (work_.kind) {
      case Work::Kind::visits: return visit();
      case Work::Kind::changes: return change();
      case Work::Kind::commands:
        for (size_t i = 0; i < work_.words.size(); ++i) timed([&] { say(i); });
    }
  }
  void say(size_t word) {
    for (Client &client : clients_) client.ask(client.payloads[word]);
    for (Client &client : clients_) client.end_answer();
  }
  void visit() {
    timed([&] {
      for (Client &client : clients_) client.connect(place_);
      for (Client &client : clients_) client.log_in();
      for (Client &client : clients_) client.end_login();
      for (size_t i = 0; i < work_.words.size(); ++i) say(i);
      for (Client &client : clients_) client.quit();
      for (Client &client : clients_) client.end_quit();
    });
  }
  void change() {
    timed([&] {
      for (Client &client : clients_) client.change_user();
      for (Client &client : clients_) client.end_login();
    });
  }
  template <typename Step>
  void timed(Step step) {
    const double began = clock_us();
    step();
    waits_.push_back(clock_us() - began);
    done_ += clients_.size();
  }

  void run_closed_loop(double until) {
    for (Client &client : clients_) ask(client, 0);
    std::vector<epoll_event> events(clients_.size());
    for (size_t under_way = clients_.size(); under_way != 0;) {
      const size_t count = poller_.wait(events, -1);
      for (size_t i = 0; i < count; ++i) {
        Client &client = *static_cast<Client *>(events[i].data.ptr);
        client.end_answer();
        const double now = clock_us();
        waits_.push_back(now - client.asked_us);
        ++done_;
        const size_t next = (client.step + 1) % work_.words.size();
        if (next != 0 || now < until) ask(client, next);
        else --under_way;
      }
    }
  }
  void ask(Client &client, size_t step) {
    client.step = step;
    client.asked_us = clock_us();
    client.ask(client.payloads[step]);
  }

  const std::string place_;
  const Work &work_;
  std::vector<Client> clients_;
  net::Poller poller_;
  size_t done_ = 0;
  std::vector<double> costs_;
  std::vector<double> waits_;
};

int main(int argc, char **argv) {
  enum Argument : int { pid = 1, first_place, second_place, clients, windows, microseconds, words };
  if (argc <= words) fail("PID PLACE PLACE CLIENTS WINDOWS MICROSECONDS WORD ...");
  clockid_t server = 0;
  if (clock_getcpuclockid(static_cast<pid_t>(number(argv[pid])), &server) != 0) fail("there is no such process");
  const Work work = work_of({argv + words, argv + argc});
  Side first(argv[first_place], number(argv[clients]), work);
  Side second(argv[second_place], number(argv[clients]), work);
  for (Side *const side : {&first, &second}) {
    side->run_window(warm_up_us, server);
    side->forget();
  }
  const auto window_us = static_cast<double>(number(argv[microseconds]));
  for (uint64_t i = number(argv[windows]); i != 0; --i) {
    (i % 2 == 0 ? first : second).run_window(window_us, server);
    (i % 2 == 0 ? second : first).run_window(window_us, server);
  }
  std::printf("{");
  first.print("first");
  std::printf(", ");
  second.print("second");
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace postern::bench

int main(int argc, char **argv) {
  return postern::bench::main(argc, argv);
}
