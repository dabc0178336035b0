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
#include "redis/lua/functions.h"
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

struct Fixed {
  Bytes name;
  Bytes value;
};

// What Redis shows of its own parts, with its values where it uses none of them: programs look for these names.
constexpr Fixed fixed_server[] = {{"redis_git_sha1", "00000000"},
                                  {"redis_git_dirty", "0"},
                                  {"redis_build_id", "0"},
                                  {"gcc_version", __VERSION__},
                                  {"process_supervised", "no"},
                                  {"executable", ""},
                                  {"config_file", ""},
                                  {"hz", "10"},
                                  {"configured_hz", "10"},
                                  {"atomicvar_api", "c11-builtin"},
                                  {"monotonic_clock", "POSIX clock_gettime"}};
constexpr Fixed fixed_clients[] = {{"client_recent_max_input_buffer", "0"},
                                   {"client_recent_max_output_buffer", "0"},
                                   {"clients_in_timeout_table", "0"}};
constexpr Fixed fixed_memory[] = {{"used_memory_startup", "0"},
                                  {"used_memory_dataset", "0"},
                                  {"used_memory_dataset_perc", "0.00%"},
                                  {"allocator_frag_ratio", "1.00"},
                                  {"allocator_frag_bytes", "0"},
                                  {"allocator_rss_ratio", "1.00"},
                                  {"allocator_rss_bytes", "0"},
                                  {"rss_overhead_ratio", "1.00"},
                                  {"rss_overhead_bytes", "0"},
                                  {"mem_fragmentation_bytes", "0"},
                                  {"mem_not_counted_for_evict", "0"},
                                  {"mem_replication_backlog", "0"},
                                  {"mem_total_replication_buffers", "0"},
                                  {"mem_clients_slaves", "0"},
                                  {"mem_cluster_links", "0"},
                                  {"mem_aof_buffer", "0"},
                                  {"mem_allocator", "libc"},
                                  {"active_defrag_running", "0"},
                                  {"lazyfree_pending_objects", "0"},
                                  {"lazyfreed_objects", "0"}};
constexpr Fixed fixed_persistence[] = {{"current_cow_peak", "0"},
                                       {"current_cow_size", "0"},
                                       {"current_cow_size_age", "0"},
                                       {"current_fork_perc", "0.00"},
                                       {"current_save_keys_processed", "0"},
                                       {"current_save_keys_total", "0"},
                                       {"rdb_saves", "0"},
                                       {"rdb_last_cow_size", "0"},
                                       {"rdb_last_load_keys_expired", "0"},
                                       {"rdb_last_load_keys_loaded", "0"},
                                       {"aof_rewrites", "0"},
                                       {"aof_rewrites_consecutive_failures", "0"},
                                       {"aof_last_cow_size", "0"},
                                       {"module_fork_in_progress", "0"},
                                       {"module_fork_last_cow_size", "0"}};
constexpr Fixed fixed_stats[] = {{"total_net_repl_input_bytes", "0"},
                                 {"total_net_repl_output_bytes", "0"},
                                 {"instantaneous_input_repl_kbps", "0.00"},
                                 {"instantaneous_output_repl_kbps", "0.00"},
                                 {"sync_full", "0"},
                                 {"sync_partial_ok", "0"},
                                 {"sync_partial_err", "0"},
                                 {"expired_stale_perc", "0.00"},
                                 {"expired_time_cap_reached_count", "0"},
                                 {"expire_cycle_cpu_milliseconds", "0"},
                                 {"total_eviction_exceeded_time", "0"},
                                 {"current_eviction_exceeded_time", "0"},
                                 {"migrate_cached_sockets", "0"},
                                 {"slave_expires_tracked_keys", "0"},
                                 {"active_defrag_hits", "0"},
                                 {"active_defrag_misses", "0"},
                                 {"active_defrag_key_hits", "0"},
                                 {"active_defrag_key_misses", "0"},
                                 {"total_active_defrag_time", "0"},
                                 {"current_active_defrag_time", "0"},
                                 {"tracking_total_items", "0"},
                                 {"tracking_total_prefixes", "0"},
                                 {"unexpected_error_replies", "0"},
                                 {"dump_payload_sanitizations", "0"},
                                 {"io_threaded_reads_processed", "0"},
                                 {"io_threaded_writes_processed", "0"},
                                 {"reply_buffer_shrinks", "0"},
                                 {"reply_buffer_expands", "0"}};

void add_fixed(Lines &lines, std::span<const Fixed> fixed) {
  for (const Fixed &one : fixed) lines.add(one.name, one.value);
}

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
  lines.add("lru_clock", static_cast<uint64_t>(now) & 0xFF'FFFF);
  add_fixed(lines, fixed_server);
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
  add_fixed(lines, fixed_clients);
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
  const FunctionStateRef functions = protocol.functions().state();
  lines.add("number_of_libraries", uint64_t{functions->libraries().size()});
  lines.add("number_of_functions", uint64_t{functions->functions()});
  lines.add("used_memory_functions", uint64_t{functions->bytes()});
  lines.add("used_memory_vm_functions", uint64_t{0});  // scripts' interpreters run functions, too
  lines.add("used_memory_vm_total", uint64_t{scripts.interpreter_bytes});
  lines.add("used_memory_vm_total_human", print_bytes(scripts.interpreter_bytes));
  lines.add("maxmemory", uint64_t{0});
  lines.add("maxmemory_human", "0B");
  lines.add("maxmemory_policy", "noeviction");
  lines.add("mem_fragmentation_ratio", "1.00");
  lines.add("used_memory_overhead", used);
  lines.add("mem_clients_normal", used);
  for (const Bytes name : {"allocator_allocated", "allocator_active", "allocator_resident"}) lines.add(name, used);
  add_fixed(lines, fixed_memory);
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
  add_fixed(lines, fixed_persistence);
}

std::string print_thousands(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(number) / 1024);
  return text;
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
  const Rates rates = protocol.rates(totals, commands);
  lines.add("instantaneous_ops_per_sec", rates.commands);
  lines.add("instantaneous_input_kbps", print_thousands(rates.received_bytes));
  lines.add("instantaneous_output_kbps", print_thousands(rates.sent_bytes));
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
  add_fixed(lines, fixed_stats);
  const Counters &counters = figures.counters;
  lines.add("postern_commits", counters.get(Counter::commits));
  lines.add("postern_transactions_lost", counters.get(Counter::transactions_lost));
}

void add_replication(Lines &lines, const Redis &protocol, const Figures &figures) {
  lines.section("Replication");
  lines.add("role", figures.read_only ? "slave" : "master");
  lines.add("connected_slaves", uint64_t{0});
  lines.add("master_failover_state", "no-failover");
  lines.add("master_replid", protocol.run_id());
  lines.add("master_replid2", std::string(40, '0'));
  lines.add("master_repl_offset", uint64_t{0});
  lines.add("second_repl_offset", "-1");
  lines.add("repl_backlog_active", uint64_t{0});
  lines.add("repl_backlog_size", uint64_t{0});
  lines.add("repl_backlog_first_byte_offset", uint64_t{0});
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
  add("used_cpu_sys_main_thread", usage.ru_stime);
  add("used_cpu_user_main_thread", usage.ru_utime);
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

/// The bound, in microseconds, of the part of the calls that is shorter than it; as exact as the figures.
double percentile(const CommandFigures &figures, double part) {
  uint64_t all = 0;
  for (const uint64_t calls : figures.calls_by_time) all += calls;
  const double wanted = part * static_cast<double>(all);
  uint64_t sum = 0;
  size_t time = 0;
  for (; time + 1 < figures.calls_by_time.size(); ++time)
    if (sum += figures.calls_by_time[time]; static_cast<double>(sum) >= wanted) break;
  return static_cast<double>(uint64_t{1} << time);
}

void add_latency_stats(Lines &lines, const Redis &protocol) {
  lines.section("Latencystats");
  const std::vector<CommandFigures> all = protocol.command_stats().sum();
  for (const Command &command : commands()) {
    const CommandFigures &one = all[command.place];
    if (one.calls == 0) continue;
    char text[120];
    std::snprintf(text, sizeof text, "p50=%.3f,p99=%.3f,p99.9=%.3f", percentile(one, 0.5), percentile(one, 0.99),
                  percentile(one, 0.999));
    lines.add(std::string("latency_percentiles_usec_").append(command.name), text);
  }
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
  if (wants(sections, "replication", true)) add_replication(lines, protocol, figures);
  if (wants(sections, "cpu", true)) add_processor(lines);
  if (wants(sections, "modules", true)) lines.section("Modules");
  if (wants(sections, "commandstats", false)) add_command_stats(lines, protocol);
  if (wants(sections, "errorstats", true)) add_error_stats(lines);
  if (wants(sections, "latencystats", false)) add_latency_stats(lines, protocol);
  if (wants(sections, "cluster", true)) {
    lines.section("Cluster");
    lines.add("cluster_enabled", uint64_t{0});
  }
  if (wants(sections, "keyspace", true)) lines.section("Keyspace");
  return lines.take();
}

}  // namespace postern::redis
