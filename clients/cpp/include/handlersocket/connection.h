// connection.h: one connection to a HandlerSocket port. One thread at a time may use it.
//
//   auto connection = Connection::connect({.port = 9999}).value();
//   Index user = connection.open({.database = "test", .table = "user", .columns = {"id", "name"}}).value();
//   connection.insert(user, {7, "Yukari"}).value();
//   for (Row row : connection.find(user, {7}).value()) std::cout << row[1].bytes();
//
// Pipelined: requests are queued, sent together, and answered in their order:
//
//   for (int id : ids) connection.queue().find(user, {id});
//   Reply reply;
//   while (connection.pending() != 0) connection.receive(reply).value();
#pragma once

#include <memory>
#include <optional>

#include "handlersocket/options.h"
#include "handlersocket/reply.h"
#include "handlersocket/result.h"
#include "handlersocket/value.h"

namespace handlersocket {

/// An index that is open on a connection; valid for that connection alone, as long as it lives.
struct Index {
  uint32_t id = 0;
  size_t columns = 0;
};

/// Requests that wait to be sent with the next flush. Each adds one to Connection::pending().
class Queue {
 public:
  void find(Index index, Values key, const Where &where = {});
  void insert(Index index, Values values);
  void upsert(Index index, Values values);
  void insert_or_ignore(Index index, Values values);
  void update(Index index, Values key, Values values, const Where &where = {});
  void remove(Index index, Values key, const Where &where = {});
  void increment(Index index, Values key, Values amounts, const Where &where = {});
  void decrement(Index index, Values key, Values amounts, const Where &where = {});
  /// The same; each is answered with the rows before the change.
  void update_fetch(Index index, Values key, Values values, const Where &where = {});
  void remove_fetch(Index index, Values key, const Where &where = {});
  void increment_fetch(Index index, Values key, Values amounts, const Where &where = {});
  void decrement_fetch(Index index, Values key, Values amounts, const Where &where = {});
  /// The index may be used in requests queued after it; they are refused if it is.
  Index open(const IndexSpec &spec);
  void authenticate(std::string_view secret);
  void login(const Account &account);

 private:
  friend class Connection;
  struct State;
  explicit Queue(State &state) : state_(&state) {}
  void modify(Index index, Values key, const Where &where, std::string_view word, Values values);
  State *state_;
};

class Connection {
 public:
  /// Connects, and authenticates if the options have credentials.
  static Result<Connection> connect(const Options &options);

  Connection(Connection &&) noexcept;
  Connection &operator=(Connection &&) noexcept;
  ~Connection();

  // One request and its reply. All fail with Error::Kind::usage while replies are pending.

  Result<Index> open(const IndexSpec &spec);
  Result<Rows> find(Index index, Values key, const Where &where = {});
  /// Returns the AUTO_INCREMENT id; 0 if the row had one; nothing for a table without AUTO_INCREMENT.
  Result<std::optional<uint64_t>> insert(Index index, Values values);
  /// Updates the row with an equal key, if there is one. Returns 1 for a new row, 2 for an updated one, 0 if unchanged.
  Result<uint64_t> upsert(Index index, Values values);
  /// Returns 1 for a new row, 0 if the key exists.
  Result<uint64_t> insert_or_ignore(Index index, Values values);
  // Modifications return the number of rows found. A filter makes one a compare-and-set.
  /// Sets the first columns to the values; the others stay as they are.
  Result<uint64_t> update(Index index, Values key, Values values, const Where &where = {});
  Result<uint64_t> remove(Index index, Values key, const Where &where = {});
  Result<uint64_t> increment(Index index, Values key, Values amounts, const Where &where = {});
  /// Leaves a row unchanged and uncounted if a column would change its sign.
  Result<uint64_t> decrement(Index index, Values key, Values amounts, const Where &where = {});
  // The same, but they return the rows before the change.
  Result<Rows> update_fetch(Index index, Values key, Values values, const Where &where = {});
  Result<Rows> remove_fetch(Index index, Values key, const Where &where = {});
  Result<Rows> increment_fetch(Index index, Values key, Values amounts, const Where &where = {});
  Result<Rows> decrement_fetch(Index index, Values key, Values amounts, const Where &where = {});
  Result<void> authenticate(std::string_view secret);
  Result<void> login(const Account &account);

  // Pipelines.

  /// Requests are added here. flush() sends them, or receive() when no other request is in flight.
  Queue queue();
  /// Sends queued requests, and takes in replies meanwhile, so that neither side waits for the other for ever.
  Result<void> flush();
  /// Requests queued or sent that have no reply yet.
  size_t pending() const;
  /// Whether the reply to the oldest of them has arrived: receive() would make no system call. To keep a number of
  /// requests in flight, receive while this is true, queue as many new ones, and flush.
  bool arrived() const;
  /// The reply to the oldest of them. Fails when the connection breaks; a refused request is an error in the reply.
  Result<void> receive(Reply &reply);
  /// The same for one reply; a refused request is a failure here, too.
  Result<Reply> receive();

  /// False once the connection broke, or if the server has closed it or sent unrequested bytes while it was idle.
  bool usable();
  /// Closes the connection; pending requests get no reply.
  void close();

 private:
  explicit Connection(std::unique_ptr<Queue::State> state);
  std::unique_ptr<Queue::State> state_;
};

}  // namespace handlersocket
