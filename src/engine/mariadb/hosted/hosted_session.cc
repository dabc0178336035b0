#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/hosted_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/mariadb/basics/account.h"
#include "engine/mariadb/hosted/thd/attachment.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/main_port.h"
#include "engine/mariadb/hosted/plans/select_plan.h"
#include "engine/mariadb/hosted/verification.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

// As the server's thread pool declares it.
extern void net_before_header_psi(struct st_net *net, void *user_data, size_t);

namespace postern::mariadb {
namespace {

/// The door decides when a session is idle, not the server's reading.
void nothing_before_header(st_net *, void *, size_t) {}

void set_idle(THD *thd) {
  thd->net.reading_or_writing = 1;
  if (!(thd->net.compress && thd->net.remain_in_buf != 0)) net_before_header_psi(&thd->net, thd, 0);
}

/// As the server's thread pool ends a session that was silent for too long: with a line in the log, and none for the
/// client.
void tell_log_of_timeout(THD *thd) {
  thd->get_stmt_da()->reset_diagnostics_area();
  thd->reset_killed();
  my_error(ER_NET_READ_INTERRUPTED, MYF(0));
  thd->net.last_errno = ER_NET_READ_INTERRUPTED;
  thd->net.error = 2;
}

}  // namespace

bool HostedSession::log_in(int fd, bool local) {
  Attachment attachment;
  set_mysys_var(nullptr);
  my_thread_init();
  CONNECT *connect = std::exchange(connect_, nullptr);
  if (connect == nullptr) {
    MYSQL_SOCKET socket{};
    socket.fd = fd;
    (void)take_let_in();
    create_new_thread(  // counts it; or refuses it, with an error
        new CONNECT(socket, local ? VIO_TYPE_SOCKET : VIO_TYPE_TCPIP, hosting_scheduler()));
    connect = take_let_in();
  }
  if (connect == nullptr || !join(connect)) {
    my_thread_end();
    return false;
  }
  attachment.to(thd_, mysys_);
  if (prepare()) return true;
  close();
  return false;
}

/// Makes the THD. This and prepare() do the work of the server's thread pool (threadpool_add_connection), where a THD
/// has a mysys variable of its own, too.
bool HostedSession::join(CONNECT *connect) {
  PSI_CALL_set_thread(PSI_CALL_new_thread(key_thread_one_connection, connect, 0));
  THD *const thd = my_thread_var != nullptr ? connect->create_thd(nullptr) : nullptr;
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

/// Greets the client and verifies it. False: it is refused, or has gone.
bool HostedSession::prepare() {
  THD *const thd = thd_;
  mysql_socket_set_thread_owner(thd->net.vio->mysql_socket);
  thd->m_net_server_extension.m_before_header = nothing_before_header;
  const ulonglong now = microsecond_interval_timer();
  thd->prior_thr_create_utime = now;
  thd->start_utime = now;
  thd->thr_create_utime = now;
  setup_connection_thread_globals(thd);
  // Shutdown kills all that it finds; if it looked before this one was there, it has set abort_loop before that.
  if (abort_loop || interrupted_.load(std::memory_order_acquire)) return false;
  if (thd_prepare_connection(thd)) return false;
  logged_in_ = true;
  if (!thd_is_connection_alive(thd)) return false;  // init_connect failed
  Vio *const vio = thd->net.vio;
  hook(vio);
  // The worker reads by the TLS session, which must not wait. The server waits by polling where it has a timeout.
  ::fcntl(vio->mysql_socket.fd, F_SETFL, ::fcntl(vio->mysql_socket.fd, F_GETFL) | O_NONBLOCK);
  thd->skip_wait_timeout = true;
  note_context();
  set_idle(thd);
  return true;
}

bool HostedSession::serve(const Statement &statement) {
  THD *const thd = thd_;
  Attachment attachment(thd, mysys_);
  if (thd->killed >= KILL_CONNECTION) {
    if (thd->killed == KILL_WAIT_TIMEOUT) tell_log_of_timeout(thd);
    return false;
  }
  const Bytes packet = statement.packet;
  if (!keep_promises(packet)) {
    const HeldForCluster held(thd);  // it gives back the attachment's hold
    return true;
  }
  const bool reads = statement.plan != nullptr && !statement.plan->writes();
  const uint64_t version = statement.plan != nullptr ? version_of(*statement.plan) : 0;
  const std::optional<ClientMetadata> columns = client_metadata(packet);
  std::optional<Verification> verification;
  if (std::exchange(to_be_verified_, false) && reads) {
    const auto &plan = *static_cast<const SelectPlan *>(statement.plan);
    verification.emplace(thd, plan, statement, columns ? &*columns : nullptr);
  }
  std::string answer;
  const Conversation conversation(thd->net.vio, packet, statement.rest, &answer,
                                  verification ? Verification::answer_bytes_max : Conversation::answer_bytes_usual);
  do {
    thd->net.reading_or_writing = 0;
    if (mysql_audit_release_required(thd)) mysql_audit_release(thd);
    if (do_command(thd, true) != DISPATCH_COMMAND_SUCCESS || !thd_is_connection_alive(thd)) return false;
    set_idle(thd);
  } while (thd->net.compress && thd->net.remain_in_buf != 0);
  const HeldForCluster held(thd);
  if (verification) verification->compare(answer);
  note_served(packet);
  note_context();
  learnt_ = {};
  if (held.was_rolled_back()) return true;
  learn(statement, answer, version);
  learnt_.failed = thd->is_error();
  return true;
}

void HostedSession::end(bool peer_ended) {
  THD *const thd = thd_;
  if (connect_ != nullptr) std::exchange(connect_, nullptr)->close_and_delete(0);  // nobody has greeted it
  if (thd == nullptr) return;
  Attachment attachment(thd, mysys_);
  thd->net.reading_or_writing = 0;
  if (thd->killed == KILL_WAIT_TIMEOUT) {
    tell_log_of_timeout(thd);
  } else if (peer_ended && thd_is_connection_alive(thd)) {
    // The server meets the end of the stream, counts it and logs it.
    const Conversation conversation(thd->net.vio, {}, nullptr, nullptr);
    do_command(thd, true);
  }
  close();
}

/// As the thread of a connection ends it (do_handle_one_connection).
void HostedSession::close() {
  THD *const thd = thd_;
  thd->net.reading_or_writing = 0;
  deferred_.clear();
  if (logged_in_) end_connection(thd);
  {
    const std::lock_guard guard(mutex_);
    thd_ = nullptr;
  }
  close_connection(thd, 0);
  if (thd->userstat_running) update_global_user_stats(thd, logged_in_, time(nullptr));
  unlink_thd(thd);
  PSI_CALL_delete_current_thread();
  delete thd;
  my_thread_end();
}

bool HostedSession::compressed() const {
  return thd_ != nullptr && thd_->net.compress;
}

uint64_t HostedSession::number() const {
  return thd_ != nullptr ? thd_->thread_id : 0;
}

std::string HostedSession::account() const {
  return thd_ != nullptr ? account_name(*thd_->security_ctx) : std::string();
}

int HostedSession::fd() const {
  return thd_ != nullptr ? mysql_socket_getfd(thd_->net.vio->mysql_socket) : -1;
}

void *HostedSession::tls() const {
  return thd_ != nullptr && thd_->net.vio->type == VIO_TYPE_SSL ? thd_->net.vio->ssl_arg : nullptr;
}

int64_t HostedSession::idle_limit_ms() const {
  return thd_ != nullptr ? int64_t{thd_->get_net_wait_timeout()} * 1000 : 0;
}

void HostedSession::time_out() {
  mysql_mutex_lock(&thd_->LOCK_thd_kill);
  thd_->set_killed_no_mutex(KILL_WAIT_TIMEOUT);
  post_kill_notification(thd_);
  mysql_mutex_unlock(&thd_->LOCK_thd_kill);
}

void HostedSession::interrupt() {
  interrupted_.store(true, std::memory_order_release);
  const std::lock_guard guard(mutex_);
  if (thd_ != nullptr) thd_->awake(KILL_CONNECTION);
}

}  // namespace postern::mariadb
