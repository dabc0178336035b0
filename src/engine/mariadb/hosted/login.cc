#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/session.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/thd_deletion.h"
#include "engine/mariadb/hosted/housekeeping.h"
#include "engine/mariadb/hosted/kept_thds.h"
#include "engine/mariadb/hosted/logins_known.h"
#include "engine/mariadb/hosted/main_port.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

// As the server's thread pool declares it.
extern void net_before_header_psi(struct st_net *net, void *user_data, size_t);

namespace postern::mariadb {
namespace {

/// The door decides when a session is idle, not the server's reading.
void nothing_before_header(st_net *, void *, size_t) {}

/// Whether the peer sends no more, and everything that it sent was read.
bool has_nothing_but_its_end(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool is_audited() {
  return (mysql_global_audit_mask[0] & MYSQL_AUDIT_CONNECTION_CLASSMASK) != 0;
}

/// Whether the server, given this answer to its greeting, accepts or refuses the client without waiting: for another
/// packet, for the statements of init_connect, or for the system's user names.
bool is_verified_at_once(Bytes packet, bool local) {
  constexpr size_t smallest = 4 + 32 + 2;
  if (packet.size() < smallest || packet[3] != 1 || opt_init_connect.length != 0 || opt_log || is_audited())
    return false;
  const auto *const answer = reinterpret_cast<const uchar *>(packet.data()) + 4;
  constexpr uint32_t wanted = CLIENT_PROTOCOL_41 | CLIENT_SECURE_CONNECTION;
  const uint32_t capabilities = uint4korr(answer);
  if ((capabilities & wanted) != wanted || (capabilities & CLIENT_SSL)) return false;
  const Bytes name = sql::name_in_answer(packet);
  if (!answers_once(name)) return false;
  const size_t proof_at = 4 + 32 + name.size() + 1;
  return !local || (packet.size() > proof_at && packet[proof_at] == SCRAMBLE_LENGTH);
}

}  // namespace

void HostedSession::let_rest(THD *thd) {
  thd->net.reading_or_writing = 1;
  if (!(thd->net.compress && thd->net.remain_in_buf != 0)) net_before_header_psi(&thd->net, thd, 0);
}

Greeted HostedSession::greet(int fd, PeerKind peer, Output &output) {
  // The server resolves only the names of remote peers.
  if (abort_loop || is_audited() || (peer == PeerKind::remote && !opt_skip_name_resolve)) return Greeted::not_now;
  const auto greeting = known_greeting();
  if (greeting == nullptr) return Greeted::not_now;
  // A new THD waits while a global variable is being set.
  if (mysql_mutex_trylock(&LOCK_global_system_variables) != 0) return Greeted::not_now;
  mysql_mutex_unlock(&LOCK_global_system_variables);
  login_greeting_.reserve(greeting->bytes());
  Attachment attachment;
  local_ = peer == PeerKind::local;
  if (!enter(fd, local_)) return Greeted::refused;
  attachment.to(thd_, mysys_);
  if (!begin()) {
    close();
    return Greeted::refused;
  }
  rand_ = thd_->rand;
  char scramble[SCRAMBLE_LENGTH + 1];
  thd_create_random_password(thd_, scramble, SCRAMBLE_LENGTH);
  const Output::Mark mark = output.mark();
  greeting->write(output, static_cast<uint32_t>(thd_->thread_id), {scramble, SCRAMBLE_LENGTH},
                  static_cast<uint16_t>(thd_->server_status));
  login_greeting_.assign(output.written_since(mark));
  login_.greeting = login_greeting_;
  hook(thd_->net.vio);
  thd_->net.reading_or_writing = 1;
  return Greeted::greeted;
}

bool HostedSession::log_in(int fd, bool local) {
  Attachment attachment;
  if (!enter(fd, local)) return false;
  attachment.to(thd_, mysys_);
  if (begin()) {
    const auto status = static_cast<uint16_t>(thd_->server_status);
    std::string said;
    hook(thd_->net.vio);
    bool admitted = false;
    {
      const Conversation conversation(thd_->net.vio, {}, nullptr, &said, sql::Greeting::bytes_max);
      admitted = admit();
    }
    if (admitted) {
      learn_greeting(thd_, said, status);
      return true;
    }
  }
  close();
  return false;
}

/// Lets the server count the client, or refuse it with an error, and makes the THD. The thread is detached.
bool HostedSession::enter(int fd, bool local) {
  KeptThd kept = take_kept_thd();
  set_mysys_var(kept.mysys);
  if (kept.thd == nullptr) my_thread_init();
  CONNECT *connect = std::exchange(connect_, nullptr);
  if (connect == nullptr) {
    MYSQL_SOCKET socket{};
    socket.fd = fd;
    (void)take_let_in();
    create_new_thread(new CONNECT(socket, local ? VIO_TYPE_SOCKET : VIO_TYPE_TCPIP, hosting_scheduler()));
    connect = take_let_in();
  }
  if (connect != nullptr && join(connect, kept.thd)) return true;
  if (connect == nullptr && kept.thd != nullptr) delete_thd(kept.thd);
  my_thread_end();
  return false;
}

/// Makes the THD, from `kept` if there is one. This and begin() do the work of the server's thread pool
/// (threadpool_add_connection), where a THD has a mysys variable of its own, too.
bool HostedSession::join(CONNECT *connect, THD *kept) {
  PSI_CALL_set_thread(PSI_CALL_new_thread(key_thread_one_connection, connect, 0));
  THD *thd = nullptr;
  if (kept != nullptr) thd = create_thd_again(*connect, kept);
  else if (my_thread_var != nullptr) thd = connect->create_thd(nullptr);
  if (thd == nullptr) {
    connect->close_and_delete(0);
    return false;
  }
  server_threads.insert(thd);
  delete connect;  // after insert(): shutdown waits for all that are counted, and then for all that were inserted
  mysys_ = my_thread_var;
  thd->set_mysys_var(mysys_);
  const std::lock_guard guard(mutex_);
  thd_ = thd;
  return true;
}

/// Does the rest of THD::store_globals() after the attachment, without its system call for the thread's stack.
void HostedSession::bind(THD *thd) {
  st_my_thread_var &mysys = *thd->mysys_var;
  mysys.id = thd->thread_id;
  if (thd->thread_dbug_id == 0) thd->thread_dbug_id = mysys.dbug_id;
  mysys.dbug_id = thd->thread_dbug_id;
  thd->net.thd = thd;
  thr_lock_info_init(&thd->lock_info, &mysys);
}

/// Makes the THD, to which the thread is attached, ready to greet its client. False: the server, or the door, goes
/// down.
bool HostedSession::begin() {
  THD *const thd = thd_;
  mysql_socket_set_thread_owner(thd->net.vio->mysql_socket);
  thd->m_net_server_extension.m_before_header = nothing_before_header;
  const ulonglong now = microsecond_interval_timer();
  thd->prior_thr_create_utime = now;
  thd->start_utime = now;
  thd->thr_create_utime = now;
  bind(thd);
  // Shutdown kills all THDs that it finds; if this one came too late, abort_loop was set before.
  return !abort_loop && !interrupted_.load(std::memory_order_acquire);
}

/// The server greets the client and verifies it. False: it is refused, or has gone.
bool HostedSession::admit() {
  THD *const thd = thd_;
  if (thd_prepare_connection(thd)) return false;
  logged_in_ = true;
  if (!thd_is_connection_alive(thd)) return false;  // init_connect failed
  Vio *const vio = thd->net.vio;
  hook(vio);
  // The worker reads by the TLS session, which must not wait. The server waits by polling where it has a timeout.
  if (!(vio->fcntl_mode & O_NONBLOCK))
    ::fcntl(vio->mysql_socket.fd, F_SETFL, ::fcntl(vio->mysql_socket.fd, F_GETFL) | O_NONBLOCK);
  thd->skip_wait_timeout = true;
  dialect_.note(thd);
  let_rest(thd);
  return true;
}

/// The same for a client that was greeted, and answers with `packet`: the server makes the same scramble again, from
/// the same random numbers.
bool HostedSession::admit_greeted(Bytes packet, Input *rest, Output *output) {
  thd_->rand = rand_;
  thd_->net.reading_or_writing = 0;
  login_.asks_on = false;
  const Conversation conversation(thd_->net.vio, packet, rest, output, login_);
  const bool admitted = admit();
  if (login_.greets_otherwise) forget_greeting();
  return admitted;
}

/// On a thread that may wait.
bool HostedSession::go_on_logging_in(const Statement &statement) {
  const Attachment attachment(thd_, mysys_);
  login_.may_wait = true;
  is_over_ = !admit_greeted(statement.packet, statement.rest, nullptr);
  if (!is_over_) note_answers(sql::name_in_answer(statement.packet), !login_.asks_on);
  login_greeting_ = {};
  return !is_over_;
}

bool HostedSession::log_in_in_turn(const Statement &statement, Counters &counters) {
  THD *const thd = thd_;
  if (thd == nullptr || thd->killed != NOT_KILLED || !is_verified_at_once(statement.packet, local_)) return false;
  const Attachment attachment(thd, mysys_);
  const Output::Mark mark = statement.output->mark();
  const auto received = thd->status_var.bytes_received;
  const auto sent = thd->status_var.bytes_sent;
  const bool admitted = admit_greeted(statement.packet, nullptr, statement.output);
  if (login_.asks_on) {
    statement.output->rewind_or_break(mark);
    thd->status_var.bytes_received = received;
    thd->status_var.bytes_sent = sent;
    note_answers(sql::name_in_answer(statement.packet), false);
    begin_anew();
    return false;
  }
  is_over_ = !admitted;
  login_greeting_ = {};
  counters.add(admitted ? Counter::logins : Counter::logins_failed);
  return true;
}

/// The server wanted another packet from the client, and found the end of the stream: a thread that may wait repeats
/// the login. The next try sets everything in the THD again.
void HostedSession::begin_anew() {
  THD *const thd = thd_;
  NET &net = thd->net;
  net.error = 0;
  net.last_errno = 0;
  net.last_error[0] = '\0';
  net.pkt_nr = net.compress_pkt_nr = 0;
  net.write_pos = net.read_pos = net.buff;
  net.remain_in_buf = net.where_b = 0;
  net.reading_or_writing = 1;
  thd->clear_error(true);
  thd->get_stmt_da()->reset_diagnostics_area();
  statistic_add(aborted_connects, static_cast<ulong>(-1), &LOCK_status);
}

/// The client has gone, or was silent for too long: the server notices that itself, counts it and logs it.
void HostedSession::give_login_up() {
  if (std::exchange(is_over_, true)) return;
  // At the server's own port KILL closes the socket of a client that logs in.
  if (thd_->killed >= KILL_CONNECTION) ::shutdown(thd_->net.vio->mysql_socket.fd, SHUT_RDWR);
  login_.may_wait = false;
  admit_greeted({}, nullptr, nullptr);
}

/// Like the server's COM_QUIT while nothing watches commands: counts the command, and sends nothing.
bool HostedSession::leave(size_t bytes) {
  THD *const thd = thd_;
  if (thd == nullptr || is_client_of_cluster(thd) || change_.awaits_reply() || !ends_without_waiting(thd)) return false;
  thd->status_var.bytes_received += bytes;
  ++thd->status_var.questions;
  thd->variables.max_mem_used = LONGLONG_MAX;  // the session's end may take memory
  is_over_ = true;
  return true;
}

bool HostedSession::end_at_once(bool peer_ended) {
  if (thd_ == nullptr) return true;
  if (is_client_of_cluster(thd_) || change_.awaits_reply()) return false;
  if (logged_in_ ? !ends_without_waiting(thd_) : is_audited()) return false;
  // The server reads the end of the stream, which has to be there.
  if (logged_in_ && !is_over_ && peer_ended && (tls() != nullptr || !has_nothing_but_its_end(fd()))) return false;
  may_be_kept_ = true;
  end(peer_ended);
  return true;
}

}  // namespace postern::mariadb
