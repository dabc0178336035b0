#include "items/config_tables.h"

#include <utility>

#include "base/clock.h"

namespace postern::items {
namespace {

/// Rows read of each table; more cannot be a mapping made by hand.
constexpr uint64_t rows_max = 10'000;

}  // namespace

bool MappingTable::passing() const {
  return kind_of(failure) == FailureKind::busy || failure == Failure::out_of_memory;
}

Flow Refresh::Reading::row(Row row) {
  std::vector<std::string> &cells = read.rows.emplace_back();
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
  read.failure = outcome.failure;
  if (read.failure != Failure::none)
    read.message = outcome.message.empty() ? failure_text(read.failure) : outcome.message;
  ended = true;
}

void Refresh::Reading::restart() {
  read = {};
  ended = false;
}

Refresh::Refresh(ConfigTables &config, bool claimed)
    : config_(config), claimed_(claimed), tables_(std::make_unique<Table[]>(config.tables().size())) {}

/// Only now: while the tables are locked one client waits for them, not one more each second.
Refresh::~Refresh() {
  if (claimed_) config_.end_claim(clock_ms());
}

void Refresh::add_table(Batch &batch, const ConfigTables::Table &source, Table &table) const {
  Arena &arena = batch.arena();
  Op &open = batch.add();
  open.verb = Verb::open;
  open.internal = true;
  open.slot = &table.slot;
  open.spec = arena.make<TableSpec>(TableSpec{.database = config_.database(),
                                              .table = source.name,
                                              .index = "PRIMARY",
                                              .columns = source.columns,
                                              .unicode = true});
  open.reply = &table.opened;
  Op &find = batch.add();
  find.verb = Verb::find;
  find.internal = true;
  find.slot = &table.slot;
  find.find = arena.make<Find>(Find{.comparison = Comparison::at_least, .limit = rows_max});
  find.reply = &table.found;
}

void Refresh::add_to(Batch &batch) {
  const auto sources = config_.tables();
  for (size_t i = 0; i < sources.size(); ++i) add_table(batch, sources[i], tables_[i]);
}

void Refresh::publish(int64_t now_ms) {
  std::vector<MappingTable> read;
  for (size_t i = 0; i < config_.tables().size(); ++i) {
    Reading &last = tables_[i].last();
    if (!last.ended) return;
    MappingTable &what = last.read;
    if (!what.there()) what.rows.clear();
    // The rows of the last read stay.
    if (what.passing() && config_.generation() != 0) return;
    read.push_back(std::move(what));
  }
  config_.take(read, now_ms);
}

}  // namespace postern::items
