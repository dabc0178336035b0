#include "door/lanes/serve_statement.h"

#include <poll.h>

#include <new>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "door/lanes/home.h"
#include "net/lent_channel.h"

namespace postern::door {
namespace {

/// Milliseconds that a client has to read some of its answers before it is checked again.
constexpr int look_ms = 1'000;

/// Sends pending answers before the server writes to the socket itself. False if the client does not read them.
bool flush(Connection &connection) {
  Output &output = connection.output;
  output.release();
  int64_t waited_ms = 0;
  while (output.pending_bytes() != 0) {
    const net::Transfer put = connection.channel.send(output);
    if (put.result == net::Transfer::Result::failed || output.broken()) return false;
    if (put.bytes != 0) waited_ms = 0;
    if (put.result != net::Transfer::Result::would_block) continue;
    if (waited_ms >= limits::pool_flush_ms_max) return false;
    const bool reads = connection.channel.wishes().readable_to_send;
    pollfd asked{.fd = connection.channel.fd(), .events = static_cast<short>(reads ? POLLIN : POLLOUT), .revents = 0};
    ::poll(&asked, 1, look_ms);
    waited_ms += look_ms;
  }
  return true;
}

bool log_in(Connection &connection, const Statement &answer) {
  ServerSession &session = *connection.hosted();
  if (session.alive()) {  // it has greeted its client
    if (!flush(connection) || !session.serve(answer)) return false;
  } else {
    const int fd = connection.channel.release().release();
    if (!session.log_in(fd, connection.local())) return false;
    connection.descriptor.leave_to_server();  // which counts it in max_connections
  }
  connection.borrow(std::make_unique<net::LentChannel>(session.fd(), static_cast<ssl_st *>(session.tls())));
  return true;
}

/// Measures some statements for the times of their forms.
bool serve_measured(ServerSession &session, const Statement &statement) {
  static thread_local Sampler sampler;
  if (statement.times == nullptr) return session.serve(statement);
  FormTimes &times = **statement.times;
  const bool all = times.server().wants_all();
  if (!all && !sampler.chooses()) return session.serve(statement);
  const std::shared_ptr<FormTimes> kept = *statement.times;  // the session may end
  const uint64_t begun_ns = processor_ns();
  const bool goes_on = session.serve(statement);
  kept->add_by_server(all ? 1 : FormTimes::one_in, processor_ns() - begun_ns);
  return goes_on;
}

/// A client may become another account's (COM_CHANGE_USER).
bool serve(Connection &connection, const Statement &statement) {
  ServerSession &session = *connection.hosted();
  if (!flush(connection) || !serve_measured(session, statement)) return false;
  if (!session.has_account(connection.listed.account())) connection.listed.note_account(session.account());
  return true;
}

}  // namespace

bool is_login(const SlowJob &job) {
  return !job.connection->hosted()->logged_in();
}

bool serve_next(SlowJob &job, WaitListener *listener) {
  Connection &connection = *job.connection;
  ServerSession &session = *connection.hosted();
  Op &op = job.op();
  bool goes_on = false;
  try {
    Statement statement = *op.statement;
    statement.listener = listener;
    goes_on = is_login(job) ? log_in(connection, statement) : serve(connection, statement);
  } catch (const std::bad_alloc &) {
    log::error("a statement ended its session: out of memory");
  }
  job.by_server = session.take_traffic();
  connection.listed.note_received(job.by_server.received);
  connection.listed.note_sent(job.by_server.sent);
  if (!goes_on) {
    session.end(false);
    return false;
  }
  op.progress = Progress::done;
  op.reply->done({});
  ++job.next;
  return true;
}

void finish_job(SlowJob &job) {
  Connection &connection = *job.connection;
  if (!connection.is_dead()) {
    connection.output.release();
    if (!job.all_done()) job.take_the_rest_along();
  }
}

void send_home(std::unique_ptr<SlowJob> job) {
  finish_job(*job);
  Home *const home = job->home;
  std::unique_ptr<Connection> returned = std::move(job->connection);
  job.reset();
  home->return_connection(std::move(returned));
}

void end_session(Connection &connection) {
  ServerSession &session = *connection.hosted();
  if (session.alive()) session.end(connection.peer_has_ended());
}

}  // namespace postern::door
