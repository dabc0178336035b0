#include "redis/commands/information.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "base/pool.h"
#include "redis/call.h"
#include "redis/lua/scripts.h"
#include "redis/registry/command_stats.h"
#include "redis/wire/error_counts.h"

namespace postern::redis {
namespace {

/// Lines of one answer.
class Lines {
 public:
  void section(Bytes name) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(name).append("\r\n");
  }
  void add(Bytes name, Bytes value) { text_.append(name).append(":").append(value).append("\r\n"); }
  void add(Bytes name, uint64_t value) { add(name, std::to_string(value)); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_server(Lines &lines, const Redis &protocol, const Figures &figures) {
  utsname system{};
  uname(&system);
  const int64_t now = ::time(nullptr);
  const auto uptime = static_cast<uint64_t>(now - protocol.started());
  lines.section("Server");
  lines.add("redis_version", redis_version);
  lines.add("postern_version", protocol.settings().version);
  lines.add("redis_mode", "standalone");
  lines.add("os", std::string(system.sysname) + " " + system.release + " " + system.machine);
  lines.add("arch_bits", 8 * sizeof(void *));
  lines.add("multiplexing_api", "epoll");
  lines.add("process_id", static_cast<uint64_t>(getpid()));
  lines.add("run_id", protocol.run_id());
  lines.add("tcp_port", figures.port);
  lines.add("server_time_usec", static_cast<uint64_t>(now) * 1'000'000);
  lines.add("uptime_in_seconds", uptime);
  lines.add("uptime_in_days", uptime / 86'400);
  lines.add("io_threads_active", uint64_t{0});
}

/// Writes bytes in Redis's human-readable form.
std::string print_bytes(uint64_t bytes) {
  char text[32];
  const char *unit = "B";
  auto number = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + unit;
  for (const char *const larger : {"K", "M", "G", "T"}) {
    if (number < 1024) break;
    number /= 1024;
    unit = larger;
  }
  std::snprintf(text, sizeof text, "%.2f%s", number, unit);
  return text;
}

/// Resident bytes of the whole server; 0: unknown.
uint64_t resident_bytes() {
  unsigned long pages = 0;
  std::FILE *const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const bool read = std::fscanf(file, "%*u %lu", &pages) == 1;
  std::fclose(file);
  return read ? pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void add_clients(Lines &lines, const Redis &protocol, const Figures &figures) {
  lines.section("Clients");
  lines.add("connected_clients", figures.connections);
  lines.add("cluster_connections", uint64_t{0});
  lines.add("maxclients", figures.connections_max);
  lines.add("blocked_clients", protocol.waiters().count());
  lines.add("tracking_clients", uint64_t{0});
  lines.add("postern_subscribers_cut_off", protocol.subscriptions().cut_off());
}

void add_memory(Lines &lines, const Redis &protocol) {
  const uint64_t used = pool::large_bytes();
  lines.section("Memory");
  lines.add("used_memory", used);
  lines.add("used_memory_human", print_bytes(used));
  const uint64_t peak = std::max<uint64_t>(pool::large_bytes_peak(), used);
  lines.add("used_memory_peak", peak);
  lines.add("used_memory_peak_human", print_bytes(peak));
  char share[16];
  std::snprintf(share, sizeof share, "%.2f%%",
                peak == 0 ? 0 : 100.0 * static_cast<double>(used) / static_cast<double>(peak));
  lines.add("used_memory_peak_perc", share);
  const uint64_t resident = resident_bytes();
  lines.add("used_memory_rss", resident);
  lines.add("used_memory_rss_human", print_bytes(resident));
  const uint64_t all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  lines.add("total_system_memory", all);
  lines.add("total_system_memory_human", print_bytes(all));
  const Scripts::Figures scripts = protocol.scripts().figures();
  lines.add("used_memory_lua", uint64_t{scripts.interpreter_bytes});
  lines.add("used_memory_vm_eval", uint64_t{scripts.interpreter_bytes});
  lines.add("used_memory_lua_human", print_bytes(scripts.interpreter_bytes));
  lines.add("used_memory_scripts_eval", uint64_t{scripts.script_bytes});
  lines.add("number_of_cached_scripts", uint64_t{scripts.scripts});
  lines.add("used_memory_scripts", uint64_t{scripts.script_bytes});
  lines.add("used_memory_scripts_human", print_bytes(scripts.script_bytes));
  lines.add("maxmemory", uint64_t{0});
  lines.add("maxmemory_human", "0B");
  lines.add("maxmemory_policy", "noeviction");
  lines.add("mem_fragmentation_ratio", "1.00");
}

/// Clients wait for the end of loading; a door opens only when its tables are ready.
void add_persistence(Lines &lines) {
  lines.section("Persistence");
  lines.add("loading", uint64_t{0});
  lines.add("async_loading", uint64_t{0});
  lines.add("rdb_changes_since_last_save", uint64_t{0});
  lines.add("rdb_bgsave_in_progress", uint64_t{0});
  lines.add("rdb_last_save_time", static_cast<uint64_t>(::time(nullptr)));
  lines.add("rdb_last_bgsave_status", "ok");
  lines.add("rdb_last_bgsave_time_sec", "-1");
  lines.add("rdb_current_bgsave_time_sec", "-1");
  lines.add("aof_enabled", uint64_t{1});
  lines.add("aof_rewrite_in_progress", uint64_t{0});
  lines.add("aof_rewrite_scheduled", uint64_t{0});
  lines.add("aof_last_rewrite_time_sec", "-1");
  lines.add("aof_current_rewrite_time_sec", "-1");
  lines.add("aof_last_bgrewrite_status", "ok");
  lines.add("aof_last_write_status", "ok");
}

void add_stats(Lines &lines, const Redis &protocol, const Figures &figures) {
  const Totals totals = protocol.totals(figures);
  uint64_t commands = 0;
  for (const CommandFigures &one : protocol.command_stats().sum()) commands += one.calls;
  uint64_t errors = 0;
  for (const auto &[word, count] : error_counts::told()) errors += count;
  lines.section("Stats");
  lines.add("total_connections_received", totals.connections);
  lines.add("total_commands_processed", commands);
  lines.add("total_net_input_bytes", totals.received_bytes);
  lines.add("total_net_output_bytes", totals.sent_bytes);
  lines.add("rejected_connections", totals.refused);
  lines.add("expired_keys", totals.swept);
  lines.add("evicted_keys", uint64_t{0});
  lines.add("evicted_clients", uint64_t{0});
  const Subscriptions &subscriptions = protocol.subscriptions();
  lines.add("pubsub_channels", subscriptions.count(ChannelKind::channel));
  lines.add("pubsub_patterns", subscriptions.count(ChannelKind::pattern));
  lines.add("pubsubshard_channels", subscriptions.count(ChannelKind::shard));
  lines.add("latest_fork_usec", uint64_t{0});
  lines.add("total_forks", uint64_t{0});
  lines.add("tracking_total_keys", uint64_t{0});
  lines.add("total_error_replies", errors);
  lines.add("total_reads_processed", totals.received);
  lines.add("total_writes_processed", totals.sent);
  const Counters &counters = figures.counters;
  lines.add("postern_commits", counters.get(Counter::commits));
  lines.add("postern_transactions_lost", counters.get(Counter::transactions_lost));
}

void add_replication(Lines &lines, const Figures &figures) {
  lines.section("Replication");
  lines.add("role", figures.read_only ? "slave" : "master");
  lines.add("connected_slaves", uint64_t{0});
  lines.add("master_failover_state", "no-failover");
  lines.add("master_repl_offset", uint64_t{0});
  lines.add("second_repl_offset", "-1");
  lines.add("repl_backlog_active", uint64_t{0});
  lines.add("repl_backlog_size", uint64_t{0});
  lines.add("repl_backlog_histlen", uint64_t{0});
}

void add_processor(Lines &lines) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  lines.section("CPU");
  const auto add = [&](Bytes name, const timeval &time) {
    char text[40];
    std::snprintf(text, sizeof text, "%ld.%06ld", static_cast<long>(time.tv_sec), static_cast<long>(time.tv_usec));
    lines.add(name, text);
  };
  add("used_cpu_sys", usage.ru_stime);
  add("used_cpu_user", usage.ru_utime);
  getrusage(RUSAGE_CHILDREN, &usage);
  add("used_cpu_sys_children", usage.ru_stime);
  add("used_cpu_user_children", usage.ru_utime);
}

void add_command_stats(Lines &lines, const Redis &protocol) {
  lines.section("Commandstats");
  const std::vector<CommandFigures> all = protocol.command_stats().sum();
  for (const Command &command : commands()) {
    const CommandFigures &one = all[command.place];
    if (one.calls == 0 && one.rejected == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, "calls=%" PRIu64 ",usec=%" PRIu64 ",usec_per_call=%.2f,rejected_calls=%" PRIu64,
                  one.calls, one.usec,
                  static_cast<double>(one.usec) / static_cast<double>(std::max<uint64_t>(one.calls, 1)), one.rejected);
    lines.add(std::string("cmdstat_").append(command.name), text);
  }
}

void add_error_stats(Lines &lines) {
  lines.section("Errorstats");
  for (const auto &[word, count] : error_counts::told())
    lines.add(std::string("errorstat_").append(word), "count=" + std::to_string(count));
}

/// Whether a section is wanted; `usual`: it is sent where none is named.
bool wants(std::span<const Bytes> sections, Bytes section, bool usual) {
  if (sections.empty()) return usual;
  return std::any_of(sections.begin(), sections.end(), [&](Bytes one) {
    return is_word(one, section) || is_word(one, "all") || is_word(one, "everything") ||
           (usual && is_word(one, "default"));
  });
}

}  // namespace

std::string information(const Redis &protocol, std::span<const Bytes> sections) {
  Figures figures;
  protocol.tell(figures);
  Lines lines;
  if (wants(sections, "server", true)) add_server(lines, protocol, figures);
  if (wants(sections, "clients", true)) add_clients(lines, protocol, figures);
  if (wants(sections, "memory", true)) add_memory(lines, protocol);
  if (wants(sections, "persistence", true)) add_persistence(lines);
  if (wants(sections, "stats", true)) add_stats(lines, protocol, figures);
  if (wants(sections, "replication", true)) add_replication(lines, figures);
  if (wants(sections, "cpu", true)) add_processor(lines);
  if (wants(sections, "modules", true)) lines.section("Modules");
  if (wants(sections, "commandstats", false)) add_command_stats(lines, protocol);
  if (wants(sections, "errorstats", true)) add_error_stats(lines);
  if (wants(sections, "cluster", true)) {
    lines.section("Cluster");
    lines.add("cluster_enabled", uint64_t{0});
  }
  if (wants(sections, "keyspace", true)) lines.section("Keyspace");
  return lines.take();
}

}  // namespace postern::redis
