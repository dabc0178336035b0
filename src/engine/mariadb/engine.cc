#include "engine/mariadb/basics/server.h"

#include "engine/engine.h"

#include <sys/resource.h>

#include <algorithm>

#include <slave.h>
#include <rpl_mi.h>

#include "engine/mariadb/basics/commit_waits.h"
#include "engine/mariadb/hosted/session.h"
#include "engine/mariadb/hosted/main_port.h"
#include "engine/runs/make_executor.h"

namespace postern::mariadb {
namespace {

class MariaEngine final : public Engine {
 public:
  explicit MariaEngine(engine::LoginNames names) : names_(names) {}
  bool up() const override { return server_is_up(); }

  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override {
    std::unique_ptr<ServerThread> thread = ServerThread::enter(who, stop);
    if (thread == nullptr) return nullptr;
    look_for_commit_waits();
    return rows::make_executor(std::move(thread), specs_, names_, who, stop);
  }

  bool tells_of_waits() const override { return true; }
  std::unique_ptr<ServerSession> host() override { return std::make_unique<HostedSession>(take_let_in()); }
  bool commits_may_wait() const override { return mariadb::commits_may_wait(); }
  bool flush() override { return flush_commits(); }
  uint64_t next_number() override { return next_thread_id(); }
  std::vector<OpenIndexNotes> open_indexes() const override { return specs_.all(); }

 private:
  const engine::LoginNames names_;
  sql::Specs specs_;
};

}  // namespace
}  // namespace postern::mariadb

namespace postern::engine {

std::unique_ptr<Engine> make_engine(LoginNames names) {
  return std::make_unique<mariadb::MariaEngine>(names);
}

size_t stack_bytes() {
  return my_thread_stack_size;
}

bool server_is_bootstrapping() {
  return opt_bootstrap;
}

bool knows_accounts() {
  return true;
}

bool server_is_read_only() {
  return opt_readonly;
}

bool server_is_replica() {
  mysql_mutex_lock(&LOCK_active_mi);
  bool replica = abort_loop != 0 || master_info_index == nullptr;
  for (ulong i = 0; !replica && i != master_info_index->master_info_hash.records; ++i) {
    // There is one without a host where nothing was set up.
    const auto *const source =
        reinterpret_cast<Master_info *>(my_hash_element(&master_info_index->master_info_hash, i));
    replica = source->host[0] != '\0';
  }
  mysql_mutex_unlock(&LOCK_active_mi);
  return replica;
}

Replay server_replay() {
  Replay replay{.statements = global_status_var.com_stat[SQLCOM_BINLOG_BASE64_EVENT]};
  const auto add = [](THD *thd, Replay *to) -> my_bool {
    // A session keeps this between its statements, until it ends.
    to->under_way = to->under_way || thd->rli_fake != nullptr;
    to->statements += thd->status_var.com_stat[SQLCOM_BINLOG_BASE64_EVENT];
    return 0;
  };
  server_threads.iterate<Replay>(add, &replay);
  return replay;
}

Descriptors server_descriptors() {
  rlimit limit{};
  uint64_t all = open_files_limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) all = std::min<uint64_t>(all, limit.rlim_cur);
  all = std::min<uint64_t>(all, UINT32_MAX);
  // A table takes two where its rows and its indexes are files of their own. The rest: logs, temporary files, replicas.
  constexpr uint64_t others = 256;
  const uint64_t needed = uint64_t{max_connections} + extra_max_connections + 2 * uint64_t{tc_size} + others;
  return {.all = static_cast<uint32_t>(all), .for_server = static_cast<uint32_t>(std::min(needed, all))};
}

void write_error_log(log::Level level, const char *line) {
  switch (level) {
    case log::Level::note: sql_print_information("Postern: %s", line); break;
    case log::Level::warning: sql_print_warning("Postern: %s", line); break;
    case log::Level::error: sql_print_error("Postern: %s", line); break;
  }
}

}  // namespace postern::engine
