#include "engine/mysql/server.h"

#include "engine/engine.h"

#include <sys/resource.h>

#include <algorithm>

#include "engine/runs/make_executor.h"

namespace postern::mysqld {
namespace {

class MysqlEngine final : public Engine {
 public:
  explicit MysqlEngine(engine::LoginNames names) : names_(names) {}
  bool up() const override { return server_is_up(); }
  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override {
    std::unique_ptr<ServerThread> thread = ServerThread::enter(who, watch_, stop);
    return thread != nullptr ? rows::make_executor(std::move(thread), specs_, names_, who, stop) : nullptr;
  }
  std::vector<OpenIndexNotes> open_indexes() const override { return specs_.all(); }

 private:
  const engine::LoginNames names_;
  sql::Specs specs_;
  KillWatch watch_;
};

}  // namespace
}  // namespace postern::mysqld

namespace postern::engine {

std::unique_ptr<Engine> make_engine(LoginNames names) {
  return std::make_unique<mysqld::MysqlEngine>(names);
}

size_t stack_bytes() {
  return my_thread_stack_size;
}

bool server_is_bootstrapping() {
  return opt_initialize;
}

bool knows_accounts() {
  return true;
}

bool server_is_read_only() {
  return opt_readonly || opt_super_readonly;
}

bool server_is_replica() {
  if (connection_events_loop_aborted()) return true;
  channel_map.rdlock();
  const bool replica = std::any_of(channel_map.begin(), channel_map.end(),
                                   [](const auto &channel) { return Master_info::is_configured(channel.second); });
  channel_map.unlock();
  return replica;
}

Replay server_replay() {
  class Adding final : public Do_THD_Impl {
   public:
    Replay replay{.statements = global_status_var.com_stat[SQLCOM_BINLOG_BASE64_EVENT]};
    void operator()(THD *thd) override {
      // A session keeps this between its statements, until it ends.
      replay.under_way = replay.under_way || thd->rli_fake != nullptr;
      replay.statements += thd->status_var.com_stat[SQLCOM_BINLOG_BASE64_EVENT];
    }
  };
  Adding adding;
  Global_THD_manager::get_instance()->do_for_all_thd(&adding);
  return adding.replay;
}

Descriptors server_descriptors() {
  rlimit limit{};
  uint64_t all = open_files_limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) all = std::min<uint64_t>(all, limit.rlim_cur);
  all = std::min<uint64_t>(all, UINT32_MAX);
  // A table takes one where it is a file of its own. The rest: logs, temporary files, replicas.
  constexpr uint64_t others = 256;
  const uint64_t needed = uint64_t{max_connections} + uint64_t{table_cache_size} + others;
  return {.all = static_cast<uint32_t>(all), .for_server = static_cast<uint32_t>(std::min(needed, all))};
}

void write_error_log(log::Level level, const char *line) {
  longlong severity = INFORMATION_LEVEL;
  switch (level) {
    case log::Level::note: break;
    case log::Level::warning: severity = WARNING_LEVEL; break;
    case log::Level::error: severity = ERROR_LEVEL; break;
  }
  LogErr(severity, ER_LOG_PRINTF_MSG, line);
}

}  // namespace postern::engine
