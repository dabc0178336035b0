#include "information_tables.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "running.h"

namespace postern::plugin::information {
namespace {

using engine::InformationColumn;
using engine::InformationRow;
using engine::InformationValue;
using engine::InformationViewer;

enum class Table : uint8_t {
#define COLUMN(table, name, kind, characters, sentence)
#define TABLE(name, plugin, sentence) name,
#include "information.def"
#undef TABLE
#undef COLUMN
};

struct Declared {
  Table table;
  InformationColumn column;
};
constexpr Declared declared[] = {
#define TABLE(name, plugin, sentence)
#define COLUMN(table, name, kind, characters, sentence) \
  {Table::table, {#name, InformationColumn::Kind::kind, characters}},
#include "information.def"
#undef TABLE
#undef COLUMN
};

constexpr size_t column_count(Table table) {
  return static_cast<size_t>(std::ranges::count(declared, table, &Declared::table));
}

template <Table table>
constexpr std::array<InformationColumn, column_count(table)> columns_of = [] {
  std::array<InformationColumn, column_count(table)> columns{};
  size_t next = 0;
  for (const Declared &one : declared)
    if (one.table == table) columns[next++] = one.column;
  return columns;
}();

InformationValue value_of(uint64_t number) {
  return number;
}
InformationValue value_of(std::string text) {
  if (text.empty()) return std::monostate();
  return text;
}
InformationValue value_of(InformationValue value) {
  return value;
}
InformationValue value_of(std::optional<uint64_t> number) {
  if (!number) return std::monostate();
  return *number;
}

/// The values of a row, in the order of the columns.
template <Table table, class... Values>
InformationRow row_of(Values &&...values) {
  static_assert(sizeof...(Values) == column_count(table));
  InformationRow row;
  row.reserve(sizeof...(Values));
  (row.push_back(value_of(std::forward<Values>(values))), ...);
  return row;
}

std::optional<uint64_t> unless_0(uint64_t number) {
  if (number == 0) return std::nullopt;
  return number;
}

std::string tls_of(const door::Options &options) {
  if (options.tls == nullptr || !options.tls->loaded()) return "off";
  return options.require_tls ? "required" : "offered";
}

std::string state_of(const DoorNotes &notes) {
  if (notes.door == nullptr) return notes.waits ? "waiting for tables" : "closed";
  const door::Door &door = *notes.door;
  if (!door.listening()) return "opening";
  return door.connections() >= door.options().connections_max ? "full" : "listening";
}

InformationRow door_row(const Running &running, const DoorNotes &notes) {
  const door::Door *const door = notes.door;
  const door::Options &options = door != nullptr ? door->options() : notes.site.options;
  const uint16_t port = door != nullptr ? door->port() : options.port;
  Counters counters;
  if (door != nullptr) door->add_counters(counters);
  const uint64_t requests = counters.get(Counter::requests_open) + counters.get(Counter::requests_find) +
                            counters.get(Counter::requests_insert) + counters.get(Counter::requests_edit) +
                            counters.get(Counter::requests_other) + counters.get(Counter::statements_fast) +
                            counters.get(Counter::statements_served);
  return row_of<Table::doors>(
      options.name, std::string(running.doors().plugin()), state_of(notes), port != 0 ? options.host : std::string(),
      unless_0(port), options.unix_path, tls_of(options), uint64_t{door != nullptr ? door->threads() : 0},
      uint64_t{door != nullptr ? door->connections() : 0}, uint64_t{door != nullptr ? door->connections_peak() : 0},
      uint64_t{options.connections_max}, requests, counters.get(Counter::requests_failed),
      counters.get(Counter::batches), counters.get(Counter::bytes_received), counters.get(Counter::bytes_sent),
      options.lets_in, notes.reason, notes.remedy);
}

/// The row of a plugin that is not loaded.
InformationRow missing_row(const char *plugin) {
  const InformationValue none = std::monostate();
  return row_of<Table::doors>(std::string(plugin), std::string(plugin), std::string("closed"), none, none, none, none,
                              none, none, none, none, none, none, none, none, none, none,
                              std::string("the plugin is not loaded"),
                              "INSTALL PLUGIN " + std::string(plugin) +
                                  " SONAME 'postern' loads it; the error log says why it was not, if it was to be");
}

std::vector<InformationRow> door_rows(const InformationViewer &) {
  std::vector<InformationRow> rows;
  std::vector<std::string> missing;
#define DOOR(name, folder, prefix, sentence) missing.emplace_back(#name);
#include "doors.def"
#undef DOOR
  visit_running([&](const Running &running) {
    std::erase(missing, running.doors().plugin());
    running.doors().visit_all([&](const DoorNotes &notes) { rows.push_back(door_row(running, notes)); });
  });
  for (const std::string &plugin : missing) rows.push_back(missing_row(plugin.c_str()));
  return rows;
}

std::vector<InformationRow> connection_rows(const InformationViewer &viewer) {
  std::vector<InformationRow> rows;
  visit_running([&](const Running &running) {
    running.doors().visit([&](const door::Door &door) {
      const int64_t now_ms = clock_ms();
      const auto since_ms = [&](int64_t then_ms) {
        return static_cast<uint64_t>(std::max<int64_t>(now_ms - then_ms, 0));
      };
      for (door::ConnectionNotes &one : door.roster().all()) {
        if (!viewer.sees_all && (one.account.empty() || one.account != viewer.account)) continue;
        rows.push_back(row_of<Table::connections>(
            one.id, door.options().name, std::string(running.doors().plugin()), std::move(one.peer),
            std::move(one.account), std::string(one.tls ? "YES" : "NO"), std::string(door::words_of(one.doing)),
            since_ms(one.begun_ms) / 1000, since_ms(one.active_ms),
            std::string(one.asked ? door::words_of(one.verb) : ""), one.requests, uint64_t{one.open_indexes},
            one.bytes_received, one.bytes_sent, one.bytes_buffered));
      }
    });
  });
  return rows;
}

std::vector<InformationRow> table_rows(const InformationViewer &viewer) {
  std::vector<InformationRow> rows;
  if (!viewer.sees_all) return rows;
  visit_running([&](const Running &running) {
    for (OpenIndexNotes &one : running.doors().engine().open_indexes())
      rows.push_back(row_of<Table::tables>(
          std::string(running.doors().plugin()), std::move(one.database), std::move(one.table), std::move(one.index),
          std::move(one.columns), std::move(one.filter_columns), one.users, one.finds, one.writes, one.rows_examined));
  });
  return rows;
}

std::vector<InformationRow> mapping_rows(const InformationViewer &viewer) {
  std::vector<InformationRow> rows;
  if (!viewer.sees_all) return rows;
  visit_running([&](const Running &running) {
    std::vector<MappingNotes> notes;
    running.add_mappings(notes);
    for (MappingNotes &one : notes) {
      const bool broken = !one.problem.empty() || !one.trouble.empty();
      rows.push_back(row_of<Table::mappings>(
          std::string(running.doors().plugin()), InformationValue(std::move(one.name)), one.database_number,
          std::move(one.kind), std::move(one.database), std::move(one.table), std::move(one.index),
          std::move(one.key_columns), std::move(one.value_columns), std::string(broken ? "broken" : "usable"),
          one.problem.empty() ? std::move(one.trouble) : std::move(one.problem)));
    }
  });
  return rows;
}

std::vector<InformationRow> plan_rows(const InformationViewer &viewer) {
  std::vector<InformationRow> rows;
  if (!viewer.sees_all) return rows;
  visit_running([&](const Running &running) {
    std::vector<PlanNotes> notes;
    running.add_plans(notes);
    const int64_t now_ms = wall_clock_ms();
    for (PlanNotes &one : notes)
      rows.push_back(row_of<Table::plans>(std::move(one.form), std::move(one.used_in), std::move(one.kind),
                                          std::move(one.database), std::move(one.table), std::move(one.index),
                                          std::move(one.state), std::move(one.reason), one.hits, one.left,
                                          one.worker_runs, one.worker_us, one.server_runs, one.server_us,
                                          static_cast<uint64_t>(std::max<int64_t>(now_ms - one.seen_ms, 0)) / 1000));
  });
  return rows;
}

int reset_plans() {
  visit_running([](const Running &running) { running.reset_plans(); });
  return 0;
}

constexpr auto rows_of(Table table) {
  switch (table) {
    case Table::doors: return door_rows;
    case Table::connections: return connection_rows;
    case Table::tables: return table_rows;
    case Table::mappings: return mapping_rows;
    case Table::plans: return plan_rows;
  }
  return door_rows;
}

}  // namespace

#define COLUMN(table, name, kind, characters, sentence)
#define TABLE(name, plugin, sentence)                                                         \
  namespace name {                                                                            \
  const engine::InformationTable table{plugin, columns_of<Table::name>, rows_of(Table::name), \
                                       Table::name == Table::plans ? reset_plans : nullptr};  \
  }
#include "information.def"
#undef TABLE
#undef COLUMN

}  // namespace postern::plugin::information
