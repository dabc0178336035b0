// protocol.h: a protocol as the load generator uses it: how to begin, how to ask, how an answer ends. One object serves
// all connections of a run, on one thread; each one's own state is in its Opened.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "workload.h"

namespace postern::bench {

/// A connection before the load begins: it sends and reads blocking.
class Talk {
 public:
  explicit Talk(int fd) : fd_(fd) {}
  /// False if the server has closed.
  [[nodiscard]] bool send(Bytes text) const;
  /// The bytes that have arrived and were not dropped; read_more() waits for more, false if the server has closed.
  Bytes received() const { return received_; }
  [[nodiscard]] bool read_more();
  void drop(size_t bytes) { received_.erase(0, bytes); }

 private:
  const int fd_;
  std::string received_{};
};

enum class Verdict : uint8_t {
  more,  // the answer is not complete
  right,
  wrong,    // an answer, but not the one to this request
  refused,  // an error
};
struct Heard {
  Verdict verdict = Verdict::more;
  size_t bytes = 0;  // the answer's, unless it is not complete
};

/// The use of a connection: both, unless a door has a port of its own for writing; neither if it stays silent.
struct Use {
  bool reads = false;
  bool writes = false;
};

/// What begin() was given by the server: ids of prepared statements, which a server counts on from connection to
/// connection.
struct Opened {
  std::array<uint64_t, kinds> statements{};
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  /// Greets, opens, prepares for the connection's use. Otherwise false with `error` set.
  virtual bool begin(Talk &talk, Use use, Opened &opened, std::string &error) = 0;
  /// Appends the request to `out`.
  virtual void ask(const Request &request, const Opened &opened, std::string &out) = 0;
  /// `received` begins with the answer to `request`, or with a part of it.
  virtual Heard hear(Bytes received, const Request &request) = 0;
  /// Whether bytes that came after the first ones of an answer may hold its end: spares a large answer that comes in
  /// many pieces from being searched from its beginning with each.
  virtual bool may_end(Bytes) const { return true; }
};

/// The kinds of requests in a run, so that only those are prepared.
struct Plan {
  Shape shape{};
  bool asks[kinds] = {};
  bool any(Kind kind) const { return asks[static_cast<size_t>(kind)]; }
};

std::unique_ptr<Protocol> make_handlersocket(const Plan &plan);
/// Asks as HandlerSocket, expects tools/standalone's fixed row whatever was asked.
std::unique_ptr<Protocol> make_null();
std::unique_ptr<Protocol> make_memcached(const Plan &plan);
std::unique_ptr<Protocol> make_memcached_meta(const Plan &plan);
/// The memcached door of a database: rows of the tables themselves, each table a container of its name.
std::unique_ptr<Protocol> make_memcached_container(const Plan &plan);
/// A row in Redis, and the command for it.
enum class RedisRows : uint8_t {
  strings,       // all of it, by GET
  whole_hashes,  // a hash, by HGETALL
  fields,        // a hash, each column by its name: HMGET
};
std::unique_ptr<Protocol> make_redis(const Plan &plan, RedisRows rows = RedisRows::strings);
std::unique_ptr<Protocol> make_sql_text(const Plan &plan);
std::unique_ptr<Protocol> make_sql_prepared(const Plan &plan);

/// By the name on the command line; null for an unknown one.
std::unique_ptr<Protocol> make_protocol(Bytes name, const Plan &plan);

}  // namespace postern::bench
