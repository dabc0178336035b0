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
class Lines {
 public:
  Lines(const Request &request, Output &output) : request_(request), output_(output) {}
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

void add_time(Lines &lines, Bytes name, const timeval &time) {
  char text[40];
  const int size =
      std::snprintf(text, sizeof text, "%ld.%06ld", static_cast<long>(time.tv_sec), static_cast<long>(time.tv_usec));
  lines.add(name, Bytes(text, static_cast<size_t>(size)));
}

constexpr Bytes statistic_names[] = {
#define STATISTIC(name, sentence) #name,
#include "memcached/statistics.def"
#undef STATISTIC
};

}  // namespace

Memcached::Memcached(Settings settings) : settings_(std::move(settings)), started_(::time(nullptr)) {}

std::unique_ptr<Session> Memcached::open_session(Output &output, const Peer &peer) {
  return std::make_unique<MemcachedSession>(*this, output, peer);
}

void Memcached::refuse(Output &output, Failure why) {
  form_of(Dialect::text).failed(output, Request{}, why, {});
}

Cache *Memcached::cache() {
  if (Cache *const made = cache_.load(std::memory_order_acquire)) return made;
  const std::lock_guard guard(cache_mutex_);
  if (cache_owner_ == nullptr) cache_owner_ = Cache::make(settings_.cache_bytes);
  cache_.store(cache_owner_.get(), std::memory_order_release);
  return cache_owner_.get();
}

void Memcached::tell_statistics(const Request &request, Output &output) const {
  const bool text = request.dialect == Dialect::text;
  const Bytes which = request.key;
  Lines lines(request, output);
  if (which.empty()) tell_general(request, output);
  else if (which == "settings") tell_settings(request, output);
  else if (which == "items") tell_items(request, output);
  else if (which == "slabs") tell_slabs(request, output);
  else if (which == "sizes") lines.add("sizes_status", Bytes("disabled"));
  else if (which == "sizes_disable")
    return lines.add("sizes_status", Bytes("disabled"));  // and memcached does not end it
  else if (which == "sizes_enable") return lines.add("sizes_status", Bytes("error"));
  else if (which == "reset") return reset_statistics(request, output);
  else if (which == "detail") return tell_detail(request, output);
  else if (!text || (which != "conns" && which != "cachedump" && which != "extstore"))
    return form_of(request.dialect).failed(output, request, Failure::unknown_command, {});
  lines.end();
}

void Memcached::reset_statistics(const Request &request, Output &output) const {
  statistics_.reset();
  form_of(request.dialect).plain(output, request, {});
}

void Memcached::tell_detail(const Request &request, Output &output) const {
  const Form &form = form_of(request.dialect);
  const bool text = request.dialect == Dialect::text;
  Prefixes &prefixes = statistics_.prefixes();
  if (request.value == "on" || request.value == "off") {
    prefixes.turn(request.value == "on");
    Request accepted = request;
    if (text) accepted.action = Action::verbosity;
    return form.plain(output, accepted, {});
  }
  if (request.value != "dump") {
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
    Lines(request, output).add("detailed", dump + "END\r\n");
  }
  Lines(request, output).end();
}

void Memcached::tell_general(const Request &request, Output &output) const {
  Lines lines(request, output);
  const int64_t now = ::time(nullptr);
  lines.add("pid", static_cast<uint64_t>(getpid()));
  lines.add("uptime", static_cast<uint64_t>(now - started_));
  lines.add("time", static_cast<uint64_t>(now));
  lines.add("version", settings_.version);
  lines.add("pointer_size", 8 * sizeof(void *));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  add_time(lines, "rusage_user", usage.ru_utime);
  add_time(lines, "rusage_system", usage.ru_stime);
  Figures figures;
  if (settings_.figures) settings_.figures(figures);
  const Counters &counters = figures.counters;
  lines.add("max_connections", figures.connections_max);
  lines.add("curr_connections", figures.connections);
  lines.add("total_connections", counters.get(Counter::connections_accepted));
  lines.add("rejected_connections", counters.get(Counter::connections_refused));
  // One too many is refused; the port goes on listening.
  lines.add("accepting_conns", uint64_t{1});
  lines.add("listen_disabled_num", uint64_t{0});
  lines.add("time_in_listen_disabled_us", uint64_t{0});
  lines.add("connections_peak", figures.connections_peak);
  const Statistics::Sums sums = statistics_.sum();
  for (size_t i = 0; i < statistic_count; ++i) lines.add(statistic_names[i], sums[i]);
  // A flush takes the items away at once, and nothing here waits for the end of an eviction.
  lines.add("get_flushed", uint64_t{0});
  lines.add("lrutail_reflocked", uint64_t{0});
  lines.add("bytes_read", counters.get(Counter::bytes_received));
  lines.add("bytes_written", counters.get(Counter::bytes_sent));
  lines.add("threads", figures.threads);
  // Monitors look for these by name, so they are there before the memory is.
  const Cache::Counts counts = cache_counts();
  lines.add("curr_items", counts.items);
  lines.add("total_items", counts.stored);
  lines.add("bytes", counts.bytes);
  lines.add("evictions", counts.evictions);
  lines.add("reclaimed", counts.reclaimed);
  lines.add("limit_maxbytes", settings_.cache_bytes);
#define COUNTER(name, sentence) lines.add("postern_" #name, counters.get(Counter::name));
#include "base/counters.def"
#undef COUNTER
}

void Memcached::tell_settings(const Request &request, Output &output) const {
  Lines lines(request, output);
  Figures figures;
  if (settings_.figures) settings_.figures(figures);
  lines.add("maxbytes", settings_.cache_bytes);
  lines.add("maxconns", figures.connections_max);
  lines.add("tcpport", figures.port);
  lines.add("udpport", uint64_t{0});
  lines.add("inter", figures.address);
  lines.add("domain_socket", figures.socket.empty() ? Bytes("NULL") : Bytes(figures.socket));
  lines.add("evictions", Bytes("on"));
  lines.add("shutdown_command", Bytes("no"));
  lines.add("stat_key_prefix", Bytes(":"));
  lines.add("detail_enabled", statistics_.prefixes().on() ? Bytes("yes") : Bytes("no"));
  lines.add("num_threads", figures.threads);
  lines.add("cas_enabled", Bytes("yes"));
  lines.add("flush_enabled", Bytes("yes"));
  lines.add("auth_enabled_sasl", settings_.accounts ? Bytes("yes") : Bytes("no"));
  lines.add("auth_enabled_ascii", settings_.accounts ? Bytes("yes") : Bytes("no"));
  lines.add("item_size_max", settings_.value_bytes_max);
  lines.add("binding_protocol", Bytes("auto-negotiate"));
}

/// Of the store in memory. It has no slabs; monitoring tools expect to hear of one. Of no items memcached tells
/// nothing.
void Memcached::tell_items(const Request &request, Output &output) const {
  const Cache::Counts counts = cache_counts();
  if (counts.items == 0) return;
  Lines lines(request, output);
  lines.add("items:1:number", counts.items);
  lines.add("items:1:evicted", counts.evictions);
  lines.add("items:1:reclaimed", counts.reclaimed);
}

void Memcached::tell_slabs(const Request &request, Output &output) const {
  const Cache::Counts counts = cache_counts();
  Lines lines(request, output);
  if (counts.items != 0) lines.add("1:used_chunks", counts.items);
  lines.add("active_slabs", uint64_t{counts.items != 0});
  lines.add("total_malloced", counts.bytes);
}

Cache::Counts Memcached::cache_counts() const {
  const Cache *const cache = cache_.load(std::memory_order_acquire);
  return cache != nullptr ? cache->counts() : Cache::Counts{};
}

}  // namespace postern::memcached
