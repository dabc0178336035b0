#include "engine/mysql/server.h"

#include "engine/mysql/thread.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "engine/mysql/opening.h"

namespace postern::mysqld {
namespace {

/// The user in the process list for doors' threads.
constexpr char user[] = "postern";

bool wait_for_server_start(const std::atomic<bool> &stop) {
  const auto over = [&stop] { return stop.load(std::memory_order_acquire) || connection_events_loop_aborted(); };
  while (!server_is_up() && !over()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !over();
}

/// Sets variables that must not follow the globals.
void pin(THD *thd) {
  System_variables &ours = thd->variables;
  // A batch is a transaction that ends with it.
  ours.option_bits |= OPTION_AUTOCOMMIT;
  ours.option_bits &= ~OPTION_NOT_AUTOCOMMIT;
  // Key conversions are checked by the notes that they leave.
  ours.option_bits |= OPTION_SQL_NOTES;
  ours.sql_mode |= MODE_STRICT_TRANS_TABLES | MODE_STRICT_ALL_TABLES;
  // One consistent view for each batch.
  ours.transaction_isolation = ISO_REPEATABLE_READ;
  thd->tx_isolation = ISO_REPEATABLE_READ;
  // A thread never waits for a table: the request waits in the slow lane, as long as the door's settings allow.
  ours.lock_wait_timeout = 0;
  // It bounds one user's statement; a batch serves many.
  ours.max_execution_time = 0;
  // Rows are logged as rows.
  ours.binlog_format = BINLOG_FORMAT_ROW;
}

/// A variable of InnoDB's, as it is globally.
template <class Value>
Value innodb_variable(THD *thd, const char *name, Value otherwise) {
  const auto read = [thd](const System_variable_tracker &, sys_var *variable) {
    Value value;
    std::memcpy(&value, variable->value_ptr(thd, OPT_GLOBAL, {}), sizeof value);
    return value;
  };
  return System_variable_tracker::make_tracker(name)
      .access_system_variable<Value>(thd, read, Suppress_not_found_error::YES)
      .value_or(otherwise);
}

/// Grants all rights except those that bypass read_only.
void give_rights(Security_context &security) {
  security.assign_user(user, sizeof user - 1);
  security.assign_host("", 0);
  security.set_host_or_ip_ptr("", 0);
  security.assign_priv_user(user, sizeof user - 1);
  security.assign_priv_host("", 0);
  security.set_master_access(ALL_ACCESS & ~SUPER_ACL);
}

}  // namespace

bool server_is_up() {
  return get_server_state() == SERVER_OPERATING;
}

std::unique_ptr<ServerThread> ServerThread::enter(const ThreadIdentity &who, KillWatch &watch,
                                                  const std::atomic<bool> &stop) {
  if (my_thread_init()) return nullptr;
  std::unique_ptr<ServerThread> thread(new ServerThread(who, watch, stop));
  try {
    if (wait_for_server_start(stop) && thread->create()) return thread;
  } catch (const std::system_error &) {
    log::error("%s: no thread could be had to look for KILL", who.name);
  }
  return nullptr;
}

ServerThread::~ServerThread() {
  destroy();
  my_thread_end();
}

/// Throws std::bad_alloc, or std::system_error where there is no thread to be had for the watch.
bool ServerThread::create() {
  {
    MUTEX_LOCK(lock, &LOCK_global_system_variables);
    const char *const bytes = reinterpret_cast<const char *>(&global_system_variables);
    globals_.assign(bytes, bytes + sizeof global_system_variables);
  }
  THD *const thd = new THD(true);
  thd_ = thd;
  char stack_mark;
  thd->set_new_thread_id();
  thd->thread_stack = &stack_mark;
  thd->store_globals();
  thd->system_thread = SYSTEM_THREAD_BACKGROUND;
  // Without a client; but readers of the thread's state use it, too.
  if (thd->get_protocol_classic()->init_net(nullptr)) throw std::bad_alloc();
  // An idle connection to the server: KILL finds it.
  thd->set_command(COM_SLEEP);
  thd->set_time();
  thd->set_proc_info(text_.now());
  give_rights(*thd->security_context());
  pin(thd);
  thd->init_query_mem_roots();
  start_lex(thd);
  thd->check_for_truncated_fields = CHECK_FIELD_IGNORE;
  Global_THD_manager::get_instance()->add_thd(thd);
  row_wait_.set_thd(thd);
  if (who_.access == Access::write) {
    constexpr long interleaved = 2;
    row_wait_.expect_rows_alone(innodb_variable<long>(thd, "innodb_autoinc_lock_mode", 0) == interleaved);
  }
  watched_ = {.thd = thd, .wake_fd = who_.wake_fd, .limit = &limit_, .stop = &stop_};
  watch_.add(watched_);
  // Shutdown kills every THD it finds; if it looked before ours was there, it has set this before that.
  return !connection_events_loop_aborted();
}

void ServerThread::destroy() {
  THD *const thd = std::exchange(thd_, nullptr);
  if (thd == nullptr) return;
  watch_.remove(watched_);
  lex_end(thd->lex);
  thd->get_protocol_classic()->end_net();
  thd->release_resources();
  Global_THD_manager::get_instance()->remove_thd(thd);
  delete thd;
}

bool ServerThread::killed() const {
  return thd_ == nullptr || thd_->killed == THD::KILL_CONNECTION;
}

bool ServerThread::server_stopping() const {
  return connection_events_loop_aborted();
}

bool ServerThread::has_old_globals() const {
  // Read while others may set them: a half-set value differs from the earlier one, too.
  return std::memcmp(globals_.data(), &global_system_variables, globals_.size()) != 0;
}

bool ServerThread::renew() {
  destroy();
  try {
    return create();
  } catch (const std::bad_alloc &) {
    return false;
  }
}

void ServerThread::begin_writing(bool locks_places) {
  THD *const thd = thd_;
  thd->reset_for_next_command();
  // Each op locks the rows that it names; gap locks would only block others.
  const enum_tx_isolation isolation = locks_places ? ISO_REPEATABLE_READ : ISO_READ_COMMITTED;
  thd->variables.transaction_isolation = isolation;
  thd->tx_isolation = isolation;
}

void ServerThread::end_writing() {
  thd_->cleanup_after_query();
  thd_->variables.transaction_isolation = ISO_REPEATABLE_READ;
  thd_->tx_isolation = ISO_REPEATABLE_READ;
}

int64_t ServerThread::row_wait_ms() const {
  const auto seconds = innodb_variable<unsigned long>(thd_, "innodb_lock_wait_timeout", 50);
  return static_cast<int64_t>(std::min(seconds, 100'000'000UL)) * 1000;
}

void ServerThread::show_text() {
  thd_->set_proc_info(text_.now());
}

void ServerThread::describe(Bytes text) {
  thd_->set_proc_info(text_.set(text));
}

}  // namespace postern::mysqld
