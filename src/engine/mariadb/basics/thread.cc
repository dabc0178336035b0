#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/thread.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/mariadb/basics/acting.h"
#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/basics/thd_deletion.h"
#include "engine/mariadb/basics/told_waits.h"

namespace postern::mariadb {
namespace {

// The eventfd that wakes the thread of a THD. THD::event_scheduler would be the place for it, but the server's thread
// pool believes that to be its own. The mutex is a leaf: it is taken under LOCK_thd_kill and LOCK_thd_data.
class Wakers {
 public:
  /// Reserves room for one more THD, so that adding it allocates nothing. Throws std::bad_alloc.
  void expect() {
    const std::lock_guard guard(mutex_);
    wakers_.reserve(expected_ + 1);
    ++expected_;
  }
  void expect_no_more() {
    const std::lock_guard guard(mutex_);
    --expected_;
  }
  void add(THD *thd, int fd) {
    const std::lock_guard guard(mutex_);
    wakers_.push_back({thd, fd});
  }
  void remove(THD *thd) {
    const std::lock_guard guard(mutex_);
    std::erase_if(wakers_, [thd](const Waker &waker) { return waker.thd == thd; });
  }
  void wake(THD *thd) {
    const std::lock_guard guard(mutex_);
    for (const Waker &waker : wakers_)
      if (waker.thd == thd) eventfd_write(waker.fd, 1);
  }

 private:
  struct Waker {
    THD *thd;
    int fd;
  };
  std::mutex mutex_;
  std::vector<Waker> wakers_;
  size_t expected_ = 0;
};
Wakers wakers;

/// The server calls this in the killer's thread, which holds locks of the victim: only wake it.
void on_kill(THD *thd) {
  wakers.wake(thd);
}

void on_wait_begin(THD *, int kind) {
  ToldWaits::begin();
  if (kind == THD_WAIT_ROW_LOCK) RowWait::on_begin(RowWait::For::row);
  else if (kind == THD_WAIT_TABLE_LOCK) RowWait::on_begin(RowWait::For::table);
}

void on_wait_end(THD *) {
  RowWait::on_end();
}

/// The scheduler callbacks of our THDs: kill, and waits for row locks.
scheduler_functions *our_scheduler() {
  static scheduler_functions functions = [] {
    scheduler_functions made{};
    made.max_threads = thread_scheduler->max_threads;
    made.connection_count = thread_scheduler->connection_count;
    made.max_connections = thread_scheduler->max_connections;
    made.post_kill_notification = on_kill;
    made.thd_wait_begin = on_wait_begin;
    made.thd_wait_end = on_wait_end;
    return made;
  }();
  return &functions;
}

bool wait_for_server_start(const std::atomic<bool> &stop) {
  mysql_mutex_lock(&LOCK_server_started);
  while (!mysqld_server_started && !stop.load(std::memory_order_acquire) && !abort_loop) {
    timespec until;
    set_timespec_nsec(until, 50'000'000ULL);
    mysql_cond_timedwait(&COND_server_started, &LOCK_server_started, &until);
  }
  const bool started = mysqld_server_started;
  mysql_mutex_unlock(&LOCK_server_started);
  return started && !stop.load(std::memory_order_acquire) && !abort_loop;
}

}  // namespace

bool server_is_up() {
  mysql_mutex_lock(&LOCK_server_started);
  const bool started = mysqld_server_started;
  mysql_mutex_unlock(&LOCK_server_started);
  return started;
}

const char *const thread_user = "postern";

ServerThread::ServerThread(const ThreadIdentity &who, const std::atomic<bool> &stop)
    : who_(who), row_wait_(stop), acting_(std::make_unique<ActingContext>()) {}

std::unique_ptr<ServerThread> ServerThread::enter(const ThreadIdentity &who, const std::atomic<bool> &stop) {
  my_thread_init();
  ToldWaits::tell(who.listener);
  wakers.expect();
  std::unique_ptr<ServerThread> thread(new ServerThread(who, stop));
  if (!wait_for_server_start(stop) || !thread->create()) return nullptr;
  return thread;
}

ServerThread::~ServerThread() {
  ToldWaits::tell(nullptr);
  destroy();
  wakers.expect_no_more();
  my_thread_end();
}

void ServerThread::leave() {
  mysys_ = my_thread_var;
  psi_ = PSI_CALL_get_thread();
  row_wait_.leave_thread();
  ToldWaits::tell(nullptr);
  act_as_nobody();
}

void ServerThread::enter_again() {
  act_as(thd_, mysys_, psi_);
  row_wait_.enter_thread();
  ToldWaits::tell(who_.listener);
}

bool ServerThread::create() {
  THD *const thd = new THD(next_thread_id());
  thd_ = thd;
  char stack_mark;
  thd->thread_stack = &stack_mark;
  thd->store_globals();
  thd->system_thread = hidden_ ? NON_SYSTEM_THREAD : SYSTEM_THREAD_GENERIC;
  thd->scheduler = our_scheduler();
  // An idle connection to the server: KILL finds it.
  thd->set_command(COM_SLEEP);
  thd->set_time();
  thd->proc_info = text_.now();

  Security_context &security = thd->main_security_ctx;
  security.host_or_ip = "";
  security.set_user(const_cast<char *>(thread_user));
  security.skip_grants();
  // skip_grants() also lifts read_only; a door must not.
  security.master_access &= ~PRIV_IGNORE_READ_ONLY;

  globals_.follow(thd);
  row_wait_.set_thd(thd);
  wakers.add(thd, who_.wake_fd);
  server_threads.insert(thd);
  thd->init_for_queries();
  lex_start(thd);
  thd->reset_for_next_command();
  thd->lex->sql_command = SQLCOM_SELECT;
  thd->count_cuted_fields = CHECK_FIELD_IGNORE;
  // Shutdown kills every THD it finds; if it looked before ours was there, it has set abort_loop before that.
  return !abort_loop;
}

void ServerThread::destroy() {
  THD *const thd = std::exchange(thd_, nullptr);
  if (thd == nullptr) return;
  row_wait_.set_thd(nullptr);
  lex_end(thd->lex);
  wakers.remove(thd);
  server_threads.erase(thd);
  delete_thd(thd);
}

bool ServerThread::killed() const {
  return thd_->killed >= KILL_CONNECTION;
}

bool ServerThread::server_stopping() const {
  return abort_loop || (thd_->killed >= KILL_SERVER && thd_->killed <= KILL_SERVER_HARD);
}

bool ServerThread::has_room_to_renew() {
  void *const room = ::operator new(sizeof(THD), std::nothrow);
  ::operator delete(room);
  return room != nullptr;
}

bool ServerThread::renew() {
  if (server_stopping()) return false;
  destroy();
  return create();
}

void ServerThread::begin_writing(bool locks_places) {
  THD *const thd = thd_;
  thd->reset_for_next_command();
  // Each op locks the rows that it names; gap locks would only block others. InnoDB reads the isolation level at the
  // beginning of each statement, even inside a transaction.
  const enum_tx_isolation isolation = locks_places ? ISO_REPEATABLE_READ : ISO_READ_COMMITTED;
  thd->variables.tx_isolation = isolation;
  thd->tx_isolation = isolation;
}

void ServerThread::end_writing() {
  thd_->cleanup_after_query();
  thd_->variables.tx_isolation = ISO_REPEATABLE_READ;
  thd_->tx_isolation = ISO_REPEATABLE_READ;
}

int64_t ServerThread::row_wait_ms() const {
  constexpr LEX_CSTRING name{STRING_WITH_LEN("innodb_lock_wait_timeout")};
  sys_var *const variable = find_sys_var(thd_, name.str, name.length, false);
  if (variable == nullptr) return 50'000;  // no InnoDB
  bool is_null = false;
  const longlong seconds = variable->val_int(&is_null, thd_, OPT_GLOBAL, &null_clex_str);
  return std::min<int64_t>(seconds, 100'000'000) * 1000;
}

void ServerThread::show_text() {
  thd_->proc_info = text_.now();
}

void ServerThread::describe(Bytes text) {
  thd_->proc_info = text_.set(text);
  show();
}

/// The process list leaves out sessions without a socket that are no system threads. Commits of a session that is no
/// system thread may end before their log is written, so this is for idle threads alone.
void ServerThread::hide() {
  if (hidden_) return;
  hidden_ = true;
  thd_->system_thread = NON_SYSTEM_THREAD;
}

void ServerThread::show() {
  if (!hidden_) return;
  hidden_ = false;
  thd_->system_thread = SYSTEM_THREAD_GENERIC;
}

}  // namespace postern::mariadb
