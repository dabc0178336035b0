#include "status.h"

#include "server_plugin.h"

#include "base/pool.h"

namespace postern::plugin {
namespace {

constexpr size_t gauge_count = 6 + 4 * 3;  // four kinds of requests have three percentiles each
constexpr size_t own_count_max = 64;       // of a plugin's own
constexpr size_t variable_count_max = counter_count + failure_count - 1 + gauge_count + own_count_max;

/// The server reads names and values after the plugin's function has returned, in the same thread. Trivial, so that the
/// library can be unloaded while the thread lives on.
struct Page {
  unsigned long long values[variable_count_max];
  StatusVariable variables[variable_count_max + 1];
};
thread_local Page page;

}  // namespace

void StatusPage::add(const char *name, uint64_t value) {
  if (count_ == variable_count_max) return;
  page.values[count_] = value;
  page.variables[count_] = status_variable(name, &page.values[count_], shown_as_number);
  ++count_;
}

void StatusPage::add_switch(const char *name, bool on) {
  if (count_ == variable_count_max) return;
  auto *const value = reinterpret_cast<SwitchValue *>(&page.values[count_]);
  *value = on;
  page.variables[count_] = status_variable(name, value, SHOW_BOOL);
  ++count_;
}

void StatusPage::add(const DoorStatus &status) {
  const Counters &counters = status.counters;
#define COUNTER(name, sentence) add(#name, counters.get(Counter::name));
#include "base/counters.def"
#undef COUNTER
#define FAILURE(name, kind, number, state, text) add("errors_" #name, counters.get(Failure::name));
#include "base/failure.def"
#undef FAILURE
  add("connections", status.connections);
  add("connections_peak", status.connections_peak);
  add("statements_in_place", status.statements_in_place);
  add("loops_moved", status.loops_moved);
  add("buffer_bytes", pool::large_bytes());
  add("buffer_bytes_max", status.buffer_bytes_max);
#define LATENCY(kind)                                                   \
  add("latency_" #kind "_p50_us", status.latencies.kind.permille(500)); \
  add("latency_" #kind "_p99_us", status.latencies.kind.permille(990)); \
  add("latency_" #kind "_p999_us", status.latencies.kind.permille(999));
  LATENCY(find)
  LATENCY(insert)
  LATENCY(edit)
  LATENCY(statement)
#undef LATENCY
}

void StatusPage::fill(StatusVariable &variable) {
  page.variables[count_] = status_end();
  variable.type = SHOW_ARRAY;
  variable.value = reinterpret_cast<char *>(page.variables);
}

}  // namespace postern::plugin
