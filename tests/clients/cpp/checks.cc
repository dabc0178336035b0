// checks: tests what transcripts do not reach, with the installed library and a real server.
//   checks WRITE_PORT        tables `kv` (k, v, n) and `counted` (id, v) in the database `cpp_checks`
// Reports errors, and is silent otherwise.
#include <handlersocket/client.h>

#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace handlersocket;

namespace {

int failures = 0;

#define CHECK(condition) \
  if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), ++failures

IndexSpec kv() {
  return {.database = "cpp_checks", .table = "kv", .columns = {"k", "v", "n"}, .filter_columns = {"n"}};
}

void check_values(Connection &connection, Index index) {
  const std::optional<int> none;
  CHECK(connection.insert(index, {"typed", none, 7u}));
  const Rows rows = connection.find(index, {std::string("typed")}).value();
  CHECK(rows.size() == 1 && rows.columns() == 3);
  CHECK(rows[0][1].is_null() && rows[0][1].bytes().empty() && !rows[0][1].as<int>());
  CHECK(rows[0][2].as<int>() == 7 && rows[0][2].as<double>() == 7.0 && !rows[0][0].as<int>());
  const Rows copy = rows;
  Rows moved = rows;
  const Rows taken = std::move(moved);
  CHECK(copy.front()[0].text() == "typed" && taken.front()[0].bytes() == "typed");
  bool thrown = false;
  try {
    rows[1];
  } catch (const std::out_of_range &) {
    thrown = true;
  }
  try {
    thrown = thrown && rows[0][3].is_null();
  } catch (const std::out_of_range &) {
  }
  CHECK(thrown);
  CHECK(!connection.insert(index, {"nan", nullptr, std::numeric_limits<double>::quiet_NaN()}));
  const std::vector<Value> key{"typed"};
  CHECK(connection.remove(index, key).value() == 1);
}

void check_counts(Connection &connection, Index index) {
  CHECK(connection.upsert(index, {"c", "C", 5}).value() == 1);
  CHECK(connection.insert_or_ignore(index, {"c", "x", 1}).value() == 0);
  CHECK(connection.increment_fetch(index, {"c"}, {nullptr, nullptr, 5}).value()[0][2].as<int>() == 5);
  CHECK(connection.decrement(index, {"c"}, {nullptr, nullptr, 1}).value() == 1);
  CHECK(connection.decrement_fetch(index, {"c"}, {nullptr, nullptr, 1}).value()[0][2].as<int>() == 9);
  CHECK(connection.increment(index, {"c"}, {nullptr, nullptr, 2}).value() == 1);
  CHECK(connection.update(index, {"c"}, {"c", "D"}, {.filters = {{.operation = ">", .value = 100}}}).value() == 0);
  CHECK(connection.update_fetch(index, {"c"}, {"c", "D"}).value()[0][1].bytes() == "C");
  CHECK(connection.remove_fetch(index, {"c"}).value()[0][2].as<int>() == 10);
  const Index counted = connection.open({.database = "cpp_checks", .table = "counted", .columns = {"id", "v"}}).value();
  CHECK(connection.insert(counted, {nullptr, "first"}).value() == 1);
}

void check_errors(Connection &connection, Index index) {
  const auto wrong_name = connection.open({.database = "cpp\tchecks", .table = "kv", .columns = {"k"}});
  CHECK(!wrong_name && wrong_name.error().kind == Error::Kind::usage);
  const auto wrong_operator = connection.find(index, {"a"}, {.operation = "=\n"});
  CHECK(!wrong_operator && wrong_operator.error().kind == Error::Kind::usage);
  const auto no_reply = connection.receive();
  CHECK(!no_reply && no_reply.error().kind == Error::Kind::usage);
  connection.queue().find(index, {"a"});
  const auto too_early = connection.find(index, {"a"});
  CHECK(!too_early && too_early.error().kind == Error::Kind::usage && connection.pending() == 1);
  CHECK(connection.receive());
  CHECK(connection.insert(index, {"a", "A", 1}));
  const auto twice = connection.insert(index, {"a", "A", 1});
  CHECK(!twice && twice.error().duplicate());
  bool thrown = false;
  try {
    connection.insert(index, {"a", "A", 1}).value();
  } catch (const Exception &exception) {
    thrown = exception.error().duplicate();
  }
  CHECK(thrown && connection.usable());
}

/// More bytes than sockets buffer, both ways: neither side may wait for the other for ever.
void check_large(Connection &connection, Index index) {
  const std::string large(60'000, 'x');
  constexpr int requests = 300;
  CHECK(connection.upsert(index, {"large", large, 1}));
  for (int i = 0; i < requests; ++i) {
    connection.queue().upsert(index, {"large", large, i});
    connection.queue().find(index, {"large"});
  }
  CHECK(connection.flush());
  Reply reply;
  for (int i = 0; i < requests; ++i) {
    CHECK(connection.receive(reply) && !reply.error);
    CHECK(connection.receive(reply) && reply.rows.size() == 1 && reply.rows[0][1].bytes() == large);
  }
  CHECK(connection.pending() == 0);
}

/// A fixed number in flight: received replies are used before the next system call.
void check_arrived(Connection &connection, Index index) {
  constexpr int under_way = 8, finds = 200;
  CHECK(connection.upsert(index, {"a", "A", 1}));
  CHECK(!connection.arrived());
  for (int i = 0; i < under_way; ++i) connection.queue().find(index, {"a"});
  CHECK(!connection.arrived());
  Reply reply;
  int received = 0;
  while (received < finds) {
    CHECK(connection.flush());
    do {
      CHECK(connection.receive(reply) && reply.rows.size() == 1);
      ++received;
      connection.queue().find(index, {"a"});
    } while (connection.arrived());
  }
  while (connection.pending() != 0) CHECK(connection.receive(reply) && reply.rows.size() == 1);
  CHECK(!connection.arrived());
}

void check_connecting(uint16_t port) {
  const auto nobody = Connection::connect({.port = 1});
  CHECK(!nobody && nobody.error().kind == Error::Kind::connect);
  CHECK(!Connection::connect({.host = "no such host"}));
  CHECK(!Connection::connect({.unix_socket = "/nowhere"}));
  CHECK(!Connection::connect({.unix_socket = std::string(500, 'x')}));
  // The server uses TLS, but nobody signed its certificate.
  const auto unknown = Connection::connect({.port = port, .tls = Tls{}});
  CHECK(!unknown && unknown.error().kind == Error::Kind::connect);
  // A peer that listens and never sends a byte.
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener, reinterpret_cast<sockaddr *>(&address), size);
  ::listen(listener, 5);
  ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  const uint16_t silent = ntohs(address.sin_port);
  using std::chrono_literals::operator""ms;
  const auto no_handshake =
      Connection::connect({.port = silent, .tls = Tls{.verify = false}, .connect_timeout = 100ms});
  CHECK(!no_handshake && no_handshake.error().kind == Error::Kind::connect);
  const auto no_login = Connection::connect({.port = silent, .secret = "s", .connect_timeout = 100ms});
  CHECK(!no_login && no_login.error().kind == Error::Kind::timeout);
  ::close(listener);
}

void check_pool(uint16_t port) {
  using std::chrono_literals::operator""ms;
  Pool pool({.port = port}, {.size = 3, .take_timeout = 10'000ms});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&pool, thread] {
      for (int i = 0; i < 50; ++i) {
        Lease lease = pool.take().value();
        const Index index = lease.index(kv()).value();
        if (index.id != 0) std::printf("opened twice\n"), ++failures;
        lease->upsert(index, {"thread" + std::to_string(thread), nullptr, i}).value();
        if (i % 10 == 3) lease->close();
        if (i % 10 == 5) lease->queue().find(index, {"a"});  // unanswered: the connection must not be reused
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  Pool small({.port = port}, {.size = 1, .take_timeout = 50ms});
  Lease only = small.take().value();
  const auto second = small.take();
  CHECK(!second && second.error().kind == Error::Kind::exhausted);
  CHECK(!Pool({.port = 1}).take());
}

}  // namespace

int main(int, char **arguments) {
  const auto port = static_cast<uint16_t>(std::stoi(arguments[1]));
  Connection connection = Connection::connect({.port = port}).value();
  const Index index = connection.open(kv()).value();
  check_values(connection, index);
  check_counts(connection, index);
  check_errors(connection, index);
  check_large(connection, index);
  check_arrived(connection, index);
  check_connecting(port);
  check_pool(port);
  return failures == 0 ? 0 : 1;
}
