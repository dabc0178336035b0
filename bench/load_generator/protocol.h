// protocol.h: Protocol, the load generator's interface of a protocol: opening, requests, parsing of answers. One object
// serves all connections of a run, on one thread; the state of a connection is in its Opened.
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
  /// Returns false if the server has closed.
  [[nodiscard]] bool send(Bytes text) const;
  /// The received bytes that were not dropped. read_more() waits for more; false if the server has closed.
  Bytes received() const { return received_; }
  [[nodiscard]] bool read_more();
  void drop(size_t bytes) { received_.erase(0, bytes); }

 private:
  const int fd_;
  std::string received_{};
};

enum class Verdict : uint8_t {
  more,  // the answer is incomplete
  right,
  wrong,    // an answer, but not the one to this request
  refused,  // an error
};
struct Heard {
  Verdict verdict = Verdict::more;
  size_t bytes = 0;  // the answer's, if it is complete
};

/// The use of a connection: both, unless a door has a port of its own for writing; neither if it stays silent.
struct Use {
  bool reads = false;
  bool writes = false;
};

/// The server's replies to begin(): ids of prepared statements, which continue over connections.
struct Opened {
  std::array<uint64_t, kinds> statements{};
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  /// Logs in, opens and prepares the connection for its use. Returns false with `error` set on failure.
  virtual bool begin(Talk &talk, Use use, Opened &opened, std::string &error) = 0;
  /// Appends the request to `out`.
  virtual void ask(const Request &request, const Opened &opened, std::string &out) = 0;
  /// `received` begins with the answer to `request`, or with a part of it.
  virtual Heard hear(Bytes received, const Request &request) = 0;
  /// Whether bytes after the first ones of an answer may contain its end, so that a large answer in many pieces is not
  /// parsed from its beginning for each.
  virtual bool may_end(Bytes) const { return true; }
};

/// Sets the kinds of requests in a run, so that only those are prepared.
struct Plan {
  Shape shape{};
  bool asks[kinds] = {};
  bool any(Kind kind) const { return asks[static_cast<size_t>(kind)]; }
};

std::unique_ptr<Protocol> make_handlersocket(const Plan &plan);
/// Sends HandlerSocket's requests, and expects the fixed row of tools/standalone.
std::unique_ptr<Protocol> make_null();
std::unique_ptr<Protocol> make_memcached(const Plan &plan);
std::unique_ptr<Protocol> make_memcached_meta(const Plan &plan);
/// The memcached door of a database: rows of the tables themselves, each table a container of the same name.
std::unique_ptr<Protocol> make_memcached_container(const Plan &plan);
/// The form of a row in Redis, and the command that reads it.
enum class RedisRows : uint8_t {
  strings,       // the whole row, by GET
  whole_hashes,  // a hash, by HGETALL
  fields,        // a hash, each column by its name: HMGET
};
std::unique_ptr<Protocol> make_redis(const Plan &plan, RedisRows rows = RedisRows::strings);
std::unique_ptr<Protocol> make_sql_text(const Plan &plan);
std::unique_ptr<Protocol> make_sql_prepared(const Plan &plan);

/// Makes the protocol of this name on the command line; null for an unknown one.
std::unique_ptr<Protocol> make_protocol(Bytes name, const Plan &plan);

}  // namespace postern::bench
