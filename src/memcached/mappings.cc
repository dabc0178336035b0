#include "memcached/mappings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace postern::memcached {
namespace {

constexpr Bytes database = "innodb_memcache";
/// Rows read of each table; more are no mapping that anybody made by hand.
constexpr uint64_t rows_max = 10'000;

/// The meaning of a word in cache_policies. `caching` is on the tables, too: what SQL changes must never be answered as
/// it was.
std::optional<Policy> policy_of(Bytes word) {
  if (word == "innodb_only" || word == "caching") return Policy::table;
  if (word == "cache_only") return Policy::memory;
  if (word == "disabled") return Policy::disabled;
  return std::nullopt;
}

/// Whether a failure says nothing about the tables themselves: what was read before stays.
bool passes(Failure failure) {
  return kind_of(failure) == FailureKind::busy || failure == Failure::out_of_memory;
}

}  // namespace

std::shared_ptr<const Container> Snapshot::find(Bytes name) const {
  const auto at = std::lower_bound(containers.begin(), containers.end(), name,
                                   [](const auto &container, Bytes wanted) { return container->name() < wanted; });
  return at != containers.end() && (*at)->name() == name ? *at : nullptr;
}

std::shared_ptr<const Snapshot> Mappings::snapshot() const {
  const std::lock_guard guard(mutex_);
  return snapshot_;
}

void Mappings::publish(std::vector<ContainerRow> rows, std::string delimiter, std::string trouble,
                       std::vector<std::string> doubts, int64_t now_ms) {
  read_ms_.store(now_ms, std::memory_order_relaxed);
  const std::shared_ptr<const Snapshot> before = snapshot();
  // They come in the order that the column's collation gives them.
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  const auto unchanged = [&](const Container &container, const ContainerRow &row) { return container.row() == row; };
  if (before != nullptr && before->trouble == trouble && before->doubts == doubts && before->delimiter == delimiter &&
      std::equal(before->containers.begin(), before->containers.end(), rows.begin(), rows.end(),
                 [&](const auto &container, const ContainerRow &row) { return unchanged(*container, row); }))
    return;

  auto fresh = std::make_shared<Snapshot>();
  fresh->delimiter = std::move(delimiter);
  fresh->trouble = std::move(trouble);
  if (!fresh->trouble.empty() && (before == nullptr || before->trouble != fresh->trouble))
    log::note("memcached: %s", fresh->trouble.c_str());
  fresh->doubts = std::move(doubts);
  for (const std::string &doubt : fresh->doubts) {
    if (before == nullptr || std::find(before->doubts.begin(), before->doubts.end(), doubt) == before->doubts.end())
      log::warning("memcached: %s", doubt.c_str());
  }
  for (ContainerRow &row : rows) {
    std::shared_ptr<const Container> container = before != nullptr ? before->find(row.name) : nullptr;
    if (container == nullptr || !unchanged(*container, row)) {
      container = std::make_shared<const Container>(std::move(row));
      if (!container->problem().empty())
        log::error("memcached: container '%s' cannot be used: %s", container->name().c_str(),
                   container->problem().c_str());
    }
    fresh->containers.push_back(std::move(container));
  }
  fresh->standard = fresh->find("default");
  if (fresh->standard == nullptr && !fresh->containers.empty()) fresh->standard = fresh->containers.front();

  const std::lock_guard guard(mutex_);
  snapshot_ = std::move(fresh);
  generation_.fetch_add(1, std::memory_order_release);
}

Flow Refresh::Reading::row(Row row) {
  std::vector<std::string> &cells = rows.emplace_back();
  for (const Value &value : row) {
    switch (value.kind()) {
      case Value::Kind::null: cells.emplace_back(); break;
      case Value::Kind::bytes: cells.emplace_back(value.bytes()); break;
      case Value::Kind::integer: cells.push_back(std::to_string(value.integer())); break;
      case Value::Kind::natural: cells.push_back(std::to_string(value.natural())); break;
    }
  }
  return Flow::more;
}

void Refresh::Reading::done(const Outcome &outcome) {
  failure = outcome.failure;
  if (failure != Failure::none) message = outcome.message.empty() ? failure_text(failure) : outcome.message;
}

void Refresh::Reading::restart() {
  rows.clear();
  failure = Failure::none;
  message.clear();
}

/// Not before: while the tables are held by somebody, one client waits for them, and not one more each second.
Refresh::~Refresh() {
  if (claimed_) mappings_.end_claim(clock_ms());
}

void Refresh::add_table(Batch &batch, Table &table, Bytes name, std::span<const Bytes> columns) {
  Arena &arena = batch.arena();
  Op &open = batch.add();
  open.verb = Verb::open;
  open.internal = true;
  open.slot = &table.slot;
  open.spec =
      arena.make<TableSpec>(TableSpec{.database = database, .table = name, .index = "PRIMARY", .columns = columns});
  open.reply = &table.opened;
  // The keys of all three tables are names, and there is none before the empty one.
  const std::span<Value> key = arena.array<Value>(1);
  key[0] = Value::of("");
  Op &find = batch.add();
  find.verb = Verb::find;
  find.internal = true;
  find.slot = &table.slot;
  find.find = arena.make<Find>(Find{.comparison = Comparison::at_least, .key = key, .limit = rows_max});
  find.reply = &table.found;
}

void Refresh::add_to(Batch &batch) {
  static constexpr Bytes containers[] = {"name",        "db_schema",          "db_table",
                                         "key_columns", "value_columns",      "flags",
                                         "cas_column",  "expire_time_column", "unique_idx_name_on_key"};
  static constexpr Bytes policies[] = {"policy_name", "get_policy", "set_policy", "delete_policy", "flush_policy"};
  static constexpr Bytes options[] = {"name", "value"};
  add_table(batch, containers_, "containers", containers);
  add_table(batch, policies_, "cache_policies", policies);
  add_table(batch, options_, "config_options", options);
}

void Refresh::publish(int64_t now_ms) {
  const Failure failure = containers_.trouble().failure;
  for (const Table *const table : {&containers_, &policies_, &options_}) {
    if (!table->there() && passes(table->trouble().failure) && mappings_.generation() != 0) return;
  }
  std::string trouble;
  if (failure == Failure::no_table) {
    trouble = "There is no table innodb_memcache.containers; innodb_memcache.sql, which comes with Postern, makes it";
  } else if (failure != Failure::none) {
    trouble = "innodb_memcache.containers cannot be read: " + containers_.trouble().message;
  } else if (containers_.found.rows.empty()) {
    trouble = "The table innodb_memcache.containers has no rows; CALL postern.map_table() makes one";
  }
  const std::string separator = option("separator", "|");
  const Policies chosen = policies();
  std::vector<ContainerRow> rows;
  if (failure == Failure::none) {
    for (const auto &cells : containers_.found.rows)
      rows.push_back({.name = cells[0],
                      .database = cells[1],
                      .table = cells[2],
                      .key_columns = cells[3],
                      .value_columns = cells[4],
                      .flags_column = cells[5],
                      .cas_column = cells[6],
                      .expiry_column = cells[7],
                      .index = cells[8],
                      .separator = separator,
                      .policies = chosen});
  }
  std::string delimiter = option("table_map_delimiter", ".");
  mappings_.publish(std::move(rows), std::move(delimiter), std::move(trouble), doubts(), now_ms);
}

/// Without containers there is one thing to tell, and these are not it.
std::vector<std::string> Refresh::doubts() const {
  std::vector<std::string> doubts;
  if (!containers_.there()) return doubts;
  const auto add = [&](const Table &table, const char *name, const char *instead) {
    const Reading &trouble = table.trouble();
    if (trouble.failure == Failure::none || passes(trouble.failure)) return;
    doubts.push_back(std::string("innodb_memcache.") + name + " cannot be read, " + instead + ": " + trouble.message);
  };
  add(policies_, "cache_policies", "all commands work on the tables");
  add(options_, "config_options", "separator is '|' and table_map_delimiter '.'");
  return doubts;
}

std::string Refresh::option(Bytes name, Bytes otherwise) const {
  if (options_.there()) {
    for (const auto &cells : options_.found.rows)
      if (cells[0] == name) return cells[1];
  }
  return std::string(otherwise);
}

Policies Refresh::policies() const {
  Policies chosen;
  if (!policies_.there()) return chosen;
  for (const auto &cells : policies_.found.rows) {
    if (cells[0] != "cache_policy") continue;
    Policy *const places[] = {&chosen.get, &chosen.set, &chosen.erase, &chosen.flush};
    for (size_t i = 0; i < std::size(places); ++i) *places[i] = policy_of(cells[i + 1]).value_or(Policy::table);
  }
  return chosen;
}

}  // namespace postern::memcached
