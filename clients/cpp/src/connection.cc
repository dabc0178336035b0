#include "handlersocket/connection.h"

#include <algorithm>
#include <unordered_map>

#include "stream.h"
#include "wire.h"

namespace handlersocket {
namespace {

/// Ids below this have their columns in a table, others in a map.
constexpr uint32_t small_ids = 4'096;

/// The number of columns of each open index.
class Shapes {
 public:
  void set(Index index) {
    if (index.id >= small_ids) {
      far_[index.id] = index.columns;
      return;
    }
    if (near_.size() <= index.id) near_.resize(index.id + 1);
    near_[index.id] = index.columns;
  }
  std::optional<size_t> columns(uint32_t id) const {
    if (id < small_ids) return id < near_.size() ? near_[id] : std::nullopt;
    const auto found = far_.find(id);
    return found == far_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<std::optional<size_t>> near_{};
  std::unordered_map<uint32_t, size_t> far_{};
};

/// A request without its reply.
struct Pending {
  Answer answer = Answer::done;
  bool opens = false;
  bool unsendable = false;  ///< nothing was sent for it
  Index index{};
};

/// Pendings in order; a ring that grows and never shrinks.
class Line {
 public:
  void push(const Pending &pending) {
    if (size_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<ptrdiff_t>(first_), ring_.end());
      first_ = 0;
      ring_.resize(std::max<size_t>(16, ring_.size() * 2));
    }
    ring_[(first_ + size_++) & (ring_.size() - 1)] = pending;
  }
  Pending pop() {
    const Pending taken = ring_[first_];
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
    return taken;
  }
  const Pending &front() const { return ring_[first_]; }
  size_t size() const { return size_; }

 private:
  std::vector<Pending> ring_{};  ///< a power of two
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace

struct Queue::State {
  State(std::unique_ptr<Transport> transport, const Options &options)
      : stream(std::in_place, std::move(transport), options.reply_bytes_max), timeout(options.request_timeout) {}

  /// The buffer for a request, which is dropped if the stream is gone.
  std::string &out() { return stream ? stream->out() : nowhere; }

  void sent(const Pending &pending) {
    out() += '\n';
    line.push(pending);
    nowhere.clear();
  }
  void unsendable() { line.push({.answer = Answer::done, .opens = false, .unsendable = true, .index = {}}); }

  /// Ends the connection: later bytes would belong to no request.
  Error break_off(Error error) {
    stream.reset();
    return error;
  }

  std::optional<Stream> stream;  ///< nothing once the connection broke
  std::chrono::milliseconds timeout;
  std::string nowhere{};
  Line line{};
  size_t under_way = 0;  ///< in the line: sent, from the first on
  Shapes shapes{};
  uint32_t next_id = 0;
};

// Queue

void Queue::find(Index index, Values key, const Where &where) {
  if (!sendable(where)) return state_->unsendable();
  put_where(state_->out(), index.id, key, where, false);
  state_->sent({.answer = Answer::rows, .index = index});
}

static void put_row(std::string &out, Index index, char word, Values values) {
  put_number(out, index.id);
  out += '\t';
  out += word;
  out += '\t';
  put_number(out, values.size());
  put_values(out, values);
}

void Queue::insert(Index index, Values values) {
  put_row(state_->out(), index, '+', values);
  state_->sent({.answer = Answer::id, .index = index});
}

void Queue::upsert(Index index, Values values) {
  put_row(state_->out(), index, 'U', values);
  state_->sent({.answer = Answer::count, .index = index});
}

void Queue::insert_or_ignore(Index index, Values values) {
  put_row(state_->out(), index, 'I', values);
  state_->sent({.answer = Answer::count, .index = index});
}

void Queue::modify(Index index, Values key, const Where &where, std::string_view word, Values values) {
  if (!sendable(where)) return state_->unsendable();
  std::string &out = state_->out();
  put_where(out, index.id, key, where, true);
  out += '\t';
  out += word;
  put_values(out, values);
  state_->sent({.answer = word.ends_with('?') ? Answer::rows : Answer::count, .index = index});
}

void Queue::update(Index index, Values key, Values values, const Where &where) {
  modify(index, key, where, "U", values);
}
void Queue::remove(Index index, Values key, const Where &where) {
  modify(index, key, where, "D", {});
}
void Queue::increment(Index index, Values key, Values amounts, const Where &where) {
  modify(index, key, where, "+", amounts);
}
void Queue::decrement(Index index, Values key, Values amounts, const Where &where) {
  modify(index, key, where, "-", amounts);
}
void Queue::update_fetch(Index index, Values key, Values values, const Where &where) {
  modify(index, key, where, "U?", values);
}
void Queue::remove_fetch(Index index, Values key, const Where &where) {
  modify(index, key, where, "D?", {});
}
void Queue::increment_fetch(Index index, Values key, Values amounts, const Where &where) {
  modify(index, key, where, "+?", amounts);
}
void Queue::decrement_fetch(Index index, Values key, Values amounts, const Where &where) {
  modify(index, key, where, "-?", amounts);
}

Index Queue::open(const IndexSpec &spec) {
  const Index index{.id = spec.id ? *spec.id : state_->next_id, .columns = spec.columns.size()};
  if (!sendable(spec)) {
    state_->unsendable();
    return index;
  }
  if (index.id >= state_->next_id) state_->next_id = index.id + 1;
  put_open(state_->out(), index.id, spec);
  state_->sent({.answer = Answer::done, .opens = true, .index = index});
  return index;
}

void Queue::authenticate(std::string_view secret) {
  if (!sendable(secret)) return state_->unsendable();
  state_->out() += "A\t1\t";
  state_->out() += secret;
  state_->sent({});
}

void Queue::login(const Account &account) {
  state_->out() += "A\t2";
  put_values(state_->out(), {account.user, account.password});
  state_->sent({});
}

// Connection

Connection::Connection(std::unique_ptr<Queue::State> state) : state_(std::move(state)) {}
Connection::Connection(Connection &&) noexcept = default;
Connection &Connection::operator=(Connection &&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::connect(const Options &options) {
  const Clock::time_point deadline = Clock::now() + options.connect_timeout;
  Result<std::unique_ptr<Transport>> transport = open_transport(options, deadline);
  if (!transport) return transport.error();
  Connection made(std::make_unique<Queue::State>(std::move(*transport), options));
  if (options.secret) made.queue().authenticate(*options.secret);
  if (options.account) made.queue().login(*options.account);
  while (made.pending() != 0) {
    made.state_->timeout = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (Result<Reply> reply = made.receive(); !reply) return reply.error();
  }
  made.state_->timeout = options.request_timeout;
  return made;
}

Queue Connection::queue() {
  return Queue(*state_);
}

size_t Connection::pending() const {
  return state_->line.size();
}

bool Connection::arrived() const {
  Queue::State &state = *state_;
  if (state.line.size() == 0) return false;
  return state.line.front().unsendable || (state.under_way != 0 && state.stream && state.stream->has_line());
}

Result<void> Connection::flush() {
  Queue::State &state = *state_;
  if (!state.stream) return error_of(Error::Kind::closed);
  // An unrequested reply: later replies could not be assigned to requests.
  if (state.under_way == 0 && state.stream->unread()) return state.break_off(error_of(Error::Kind::malformed));
  state.under_way = state.line.size();
  Result<void> done = state.stream->flush(state.timeout);
  if (!done) return state.break_off(done.error());
  return done;
}

Result<void> Connection::receive(Reply &reply) {
  Queue::State &state = *state_;
  if (state.line.size() == 0) return Error{Error::Kind::usage, 0, "no reply is pending"};
  if (state.under_way == 0) {
    if (Result<void> sent = flush(); !sent) {
      state.line.pop();
      return sent;
    }
  }
  const Pending pending = state.line.pop();
  if (state.under_way != 0) --state.under_way;
  if (pending.unsendable) {
    reply.error = Error{Error::Kind::usage, 0, "a name, an operator or a secret has a tab, a line's end or a 0 byte"};
    return {};
  }
  if (!state.stream) return error_of(Error::Kind::closed);
  const Result<std::string_view> line = state.stream->line(state.timeout);
  if (!line) return state.break_off(line.error());
  if (!ReplyParser::parse(*line, pending.answer, state.shapes.columns(pending.index.id), reply))
    return state.break_off(error_of(Error::Kind::malformed));
  if (pending.opens && !reply.error) state.shapes.set(pending.index);
  return {};
}

Result<Reply> Connection::receive() {
  Reply reply;
  if (Result<void> received = receive(reply); !received) return received.error();
  if (reply.error) return *std::move(reply.error);
  return reply;
}

namespace {

/// One request and its reply: `put` queues it, `take` makes the result of the reply.
template <class Put, class Take>
auto one(Connection &connection, Put put, Take take) -> Result<decltype(take(std::declval<Reply &>()))> {
  if (connection.pending() != 0) return Error{Error::Kind::usage, 0, "replies of a pipeline are pending"};
  put(connection.queue());
  Result<Reply> reply = connection.receive();
  if (!reply) return reply.error();
  return take(*reply);
}

Rows take_rows(Reply &reply) {
  return std::move(reply.rows);
}
uint64_t take_count(Reply &reply) {
  return reply.count;
}

}  // namespace

Result<Index> Connection::open(const IndexSpec &spec) {
  Index index;
  return one(
      *this, [&](Queue queue) { index = queue.open(spec); }, [&](Reply &) { return index; });
}

Result<Rows> Connection::find(Index index, Values key, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.find(index, key, where); }, take_rows);
}

Result<std::optional<uint64_t>> Connection::insert(Index index, Values values) {
  return one(
      *this, [&](Queue queue) { queue.insert(index, values); }, [](Reply &reply) { return reply.id; });
}

Result<uint64_t> Connection::upsert(Index index, Values values) {
  return one(
      *this, [&](Queue queue) { queue.upsert(index, values); }, take_count);
}

Result<uint64_t> Connection::insert_or_ignore(Index index, Values values) {
  return one(
      *this, [&](Queue queue) { queue.insert_or_ignore(index, values); }, take_count);
}

Result<uint64_t> Connection::update(Index index, Values key, Values values, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.update(index, key, values, where); }, take_count);
}

Result<uint64_t> Connection::remove(Index index, Values key, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.remove(index, key, where); }, take_count);
}

Result<uint64_t> Connection::increment(Index index, Values key, Values amounts, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.increment(index, key, amounts, where); }, take_count);
}

Result<uint64_t> Connection::decrement(Index index, Values key, Values amounts, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.decrement(index, key, amounts, where); }, take_count);
}

Result<Rows> Connection::update_fetch(Index index, Values key, Values values, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.update_fetch(index, key, values, where); }, take_rows);
}

Result<Rows> Connection::remove_fetch(Index index, Values key, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.remove_fetch(index, key, where); }, take_rows);
}

Result<Rows> Connection::increment_fetch(Index index, Values key, Values amounts, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.increment_fetch(index, key, amounts, where); }, take_rows);
}

Result<Rows> Connection::decrement_fetch(Index index, Values key, Values amounts, const Where &where) {
  return one(
      *this, [&](Queue queue) { queue.decrement_fetch(index, key, amounts, where); }, take_rows);
}

static Result<void> done(const Result<bool> &result) {
  if (!result) return result.error();
  return {};
}

Result<void> Connection::authenticate(std::string_view secret) {
  return done(one(
      *this, [&](Queue queue) { queue.authenticate(secret); }, [](Reply &) { return true; }));
}

Result<void> Connection::login(const Account &account) {
  return done(one(
      *this, [&](Queue queue) { queue.login(account); }, [](Reply &) { return true; }));
}

bool Connection::usable() {
  if (state_->stream && pending() == 0 && !state_->stream->silent()) close();
  return state_->stream.has_value();
}

void Connection::close() {
  state_->stream.reset();
}

}  // namespace handlersocket
