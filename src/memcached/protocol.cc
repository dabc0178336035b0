#include "memcached/protocol.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "memcached/wire/form.h"
#include "memcached/session.h"

namespace postern::memcached {
namespace {

/// Writes lines of one `stats`.
class StatsWriter {
 public:
  StatsWriter(const Request &request, Output &output) : request_(request), output_(output) {}
  void add(Bytes name, Bytes value) { form_of(request_.dialect).statistic(output_, request_, name, value); }
  void add(Bytes name, uint64_t value) {
    char digits[20];
    add(name, Bytes(digits, static_cast<size_t>(print_natural(digits, value) - digits)));
  }
  void end() { add({}, Bytes{}); }

 private:
  const Request &request_;
  Output &output_;
};

void add_time(StatsWriter &writer, Bytes name, const timeval &time) {
  char text[40];
  const int size =
      std::snprintf(text, sizeof text, "%ld.%06ld", static_cast<long>(time.tv_sec), static_cast<long>(time.tv_usec));
  writer.add(name, Bytes(text, static_cast<size_t>(size)));
}

}  // namespace

Memcached::Memcached(Settings settings) : settings_(std::move(settings)), started_(::time(nullptr)) {}

std::unique_ptr<Session> Memcached::open_session(Output &output, const Peer &peer) {
  return std::make_unique<MemcachedSession>(*this, output, peer);
}

void Memcached::refuse(Output &output, Failure why) {
  form_of(Dialect::text).failed(output, Request{}, why, {});
}

bool Memcached::change(const Settings &settings) {
  settings_.value_bytes_max = settings.value_bytes_max;
  const std::lock_guard guard(cache_mutex_);
  if (cache_owner_ != nullptr && !cache_owner_->resize(settings.cache_bytes)) return false;
  settings_.cache_bytes = settings.cache_bytes;
  return true;
}

items::Cache *Memcached::cache() {
  if (items::Cache *const made = cache_.load(std::memory_order_acquire)) return made;
  const std::lock_guard guard(cache_mutex_);
  if (cache_owner_ == nullptr) cache_owner_ = items::Cache::make(settings_.cache_bytes);
  cache_.store(cache_owner_.get(), std::memory_order_release);
  return cache_owner_.get();
}

void Memcached::write_statistics(const Request &request, Output &output) const {
  const bool text = request.dialect == Dialect::text;
  const Bytes which = request.key;
  StatsWriter writer(request, output);
  if (which.empty()) write_general(request, output);
  else if (which == "settings") write_settings(request, output);
  else if (which == "items") write_items(request, output);
  else if (which == "slabs") write_slabs(request, output);
  else if (which == "sizes") writer.add("sizes_status", Bytes("disabled"));
  else if (which == "sizes_disable")
    return writer.add("sizes_status", Bytes("disabled"));  // and memcached does not end it
  else if (which == "sizes_enable") return writer.add("sizes_status", Bytes("error"));
  else if (which == "reset") return reset_statistics(request, output);
  else if (which == "detail") return write_detail(request, output);
  else if (!text || (which != "conns" && which != "cachedump" && which != "extstore"))
    return form_of(request.dialect).failed(output, request, Failure::unknown_command, {});
  writer.end();
}

void Memcached::reset_statistics(const Request &request, Output &output) const {
  statistics_.reset();
  form_of(request.dialect).plain(output, request, {});
}

void Memcached::write_detail(const Request &request, Output &output) const {
  const Form &form = form_of(request.dialect);
  const bool text = request.dialect == Dialect::text;
  Prefixes &prefixes = statistics_.prefixes();
  if (request.detail == "on" || request.detail == "off") {
    prefixes.turn(request.detail == "on");
    Request accepted = request;
    if (text) accepted.action = Action::verbosity;
    return form.plain(output, accepted, {});
  }
  if (request.detail != "dump") {
    Request refused = request;
    refused.action = text ? Action::refused : Action::statistics;
    refused.refusal_line = "CLIENT_ERROR usage: stats detail on|off|dump";
    return text ? form.plain(output, refused, {}) : form.failed(output, request, Failure::unknown_command, {});
  }
  if (text) {
    prefixes.tell([&output](Bytes line) {
      output.put(line);
      output.put("\r\n");
    });
  } else {
    std::string dump;
    prefixes.tell([&dump](Bytes line) { dump.append(line).append("\r\n"); });
    StatsWriter(request, output).add("detailed", dump + "END\r\n");
  }
  StatsWriter(request, output).end();
}

void Memcached::write_general(const Request &request, Output &output) const {
  StatsWriter writer(request, output);
  const int64_t now = ::time(nullptr);
  writer.add("pid", static_cast<uint64_t>(getpid()));
  writer.add("uptime", static_cast<uint64_t>(now - started_));
  writer.add("time", static_cast<uint64_t>(now));
  writer.add("version", settings_.version);
  writer.add("pointer_size", 8 * sizeof(void *));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  add_time(writer, "rusage_user", usage.ru_utime);
  add_time(writer, "rusage_system", usage.ru_stime);
  Figures figures;
  if (settings_.figures) settings_.figures(figures);
  const Counters &counters = figures.counters;
  writer.add("max_connections", figures.connections_max);
  writer.add("curr_connections", figures.connections);
  writer.add("total_connections", counters.get(Counter::connections_accepted));
  writer.add("rejected_connections", counters.get(Counter::connections_refused));
  // Surplus connections are refused; the port goes on listening.
  writer.add("accepting_conns", uint64_t{1});
  writer.add("listen_disabled_num", uint64_t{0});
  writer.add("time_in_listen_disabled_us", uint64_t{0});
  writer.add("connections_peak", figures.connections_peak);
  Statistics::Sums sums;
  statistics_.add_to(sums);
#define STATISTIC(name, sentence) writer.add(#name, sums.get(Statistic::name));
#include "memcached/statistics.def"
#undef STATISTIC
  // A flush removes the items at once, and evictions do not wait.
  writer.add("get_flushed", uint64_t{0});
  writer.add("lrutail_reflocked", uint64_t{0});
  writer.add("bytes_read", counters.get(Counter::bytes_received));
  writer.add("bytes_written", counters.get(Counter::bytes_sent));
  writer.add("threads", figures.threads);
  // Monitoring looks for these by name, so they exist before the cache does.
  const items::Cache::Counts counts = cache_counts();
  writer.add("curr_items", counts.items);
  writer.add("total_items", counts.stored);
  writer.add("bytes", counts.bytes);
  writer.add("evictions", counts.evictions);
  writer.add("reclaimed", counts.reclaimed);
  writer.add("limit_maxbytes", settings_.cache_bytes);
#define COUNTER(name, sentence) writer.add("postern_" #name, counters.get(Counter::name));
#include "base/counters.def"
#undef COUNTER
}

void Memcached::write_settings(const Request &request, Output &output) const {
  StatsWriter writer(request, output);
  Figures figures;
  if (settings_.figures) settings_.figures(figures);
  writer.add("maxbytes", settings_.cache_bytes);
  writer.add("maxconns", figures.connections_max);
  writer.add("tcpport", figures.port);
  writer.add("udpport", uint64_t{0});
  writer.add("inter", figures.address);
  writer.add("domain_socket", figures.socket.empty() ? Bytes("NULL") : Bytes(figures.socket));
  writer.add("evictions", Bytes("on"));
  writer.add("shutdown_command", Bytes("no"));
  writer.add("stat_key_prefix", Bytes(":"));
  writer.add("detail_enabled", statistics_.prefixes().on() ? Bytes("yes") : Bytes("no"));
  writer.add("num_threads", figures.threads);
  writer.add("cas_enabled", Bytes("yes"));
  writer.add("flush_enabled", Bytes("yes"));
  writer.add("auth_enabled_sasl", settings_.accounts ? Bytes("yes") : Bytes("no"));
  writer.add("auth_enabled_ascii", settings_.accounts ? Bytes("yes") : Bytes("no"));
  writer.add("item_size_max", settings_.value_bytes_max);
  writer.add("binding_protocol", Bytes("auto-negotiate"));
}

/// The store in memory. It has no slabs; monitoring tools expect one. For no items memcached answers nothing.
void Memcached::write_items(const Request &request, Output &output) const {
  const items::Cache::Counts counts = cache_counts();
  if (counts.items == 0) return;
  StatsWriter writer(request, output);
  writer.add("items:1:number", counts.items);
  writer.add("items:1:evicted", counts.evictions);
  writer.add("items:1:reclaimed", counts.reclaimed);
}

void Memcached::write_slabs(const Request &request, Output &output) const {
  const items::Cache::Counts counts = cache_counts();
  StatsWriter writer(request, output);
  if (counts.items != 0) writer.add("1:used_chunks", counts.items);
  writer.add("active_slabs", uint64_t{counts.items != 0});
  writer.add("total_malloced", counts.bytes);
}

items::Cache::Counts Memcached::cache_counts() const {
  const items::Cache *const cache = cache_.load(std::memory_order_acquire);
  return cache != nullptr ? cache->counts() : items::Cache::Counts{};
}

}  // namespace postern::memcached
