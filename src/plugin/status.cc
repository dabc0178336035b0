#include <mysql/plugin.h>

#include "status.h"

namespace postern::plugin {
namespace {

StatusSource source = nullptr;

constexpr size_t gauge_count = 3;
constexpr size_t original_count = 4;  // names of the original that monitoring scripts read
constexpr size_t variable_count = counter_count + failure_count - 1 + gauge_count + original_count;

/// The server reads names and values after show() has returned, in the same thread. Trivial, so that the library can
/// be unloaded while the thread lives on.
struct Page {
  unsigned long long values[variable_count];
  st_mysql_show_var variables[variable_count + 1];
};
thread_local Page page;

struct Writer {
  size_t count = 0;
  void add(const char *name, uint64_t value) {
    page.values[count] = value;
    page.variables[count] = {name, &page.values[count], SHOW_ULONGLONG};
    ++count;
  }
};

int show(MYSQL_THD, st_mysql_show_var *variable, char *) {
  Status status;
  source(status);
  const Counters &counters = status.counters;
  Writer writer;
#define COUNTER(name, sentence) writer.add(#name, counters.get(Counter::name));
#include "base/counters.def"
#undef COUNTER
#define FAILURE(name, text) writer.add("errors_" #name, counters.get(Failure::name));
#include "base/failure.def"
#undef FAILURE
  writer.add("connections", status.connections);
  writer.add("connections_peak", status.connections_peak);
  writer.add("buffer_bytes", status.buffer_bytes);
  writer.add("hs_table_open", counters.get(Counter::table_opens));
  writer.add("hs_table_close", counters.get(Counter::table_closes));
  writer.add("hs_table_lock", counters.get(Counter::table_locks));
  writer.add("hs_table_unlock", counters.get(Counter::table_unlocks));
  page.variables[writer.count] = {nullptr, nullptr, SHOW_UNDEF};
  variable->type = SHOW_ARRAY;
  variable->value = page.variables;
  return 0;
}

}  // namespace

void set_status_source(StatusSource new_source) {
  source = new_source;
}

st_mysql_show_var status_variables[] = {{"Handlersocket", reinterpret_cast<void *>(show), SHOW_FUNC},
                                        {nullptr, nullptr, SHOW_UNDEF}};

}  // namespace postern::plugin
