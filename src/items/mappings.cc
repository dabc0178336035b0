#include "items/mappings.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace postern::items {
namespace {

/// Rows read of each table; more are no mapping that anybody made by hand.
constexpr uint64_t rows_max = 10'000;

}  // namespace

bool MappingTable::passing() const {
  return kind_of(failure) == FailureKind::busy || failure == Failure::out_of_memory;
}

std::shared_ptr<const Container> Snapshot::find(Bytes name) const {
  const auto at = std::lower_bound(containers.begin(), containers.end(), name,
                                   [](const auto &container, Bytes wanted) { return container->name() < wanted; });
  return at != containers.end() && (*at)->name() == name ? *at : nullptr;
}

std::shared_ptr<const Snapshot> Mappings::snapshot() const {
  const std::lock_guard guard(mutex_);
  return snapshot_;
}

void Mappings::publish(Mapping mapping, int64_t now_ms) {
  read_ms_.store(now_ms, std::memory_order_relaxed);
  const std::shared_ptr<const Snapshot> before = snapshot();
  std::vector<ContainerRow> &rows = mapping.rows;
  // They come in the order that the column's collation gives them.
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  const auto unchanged = [](const auto &container, const ContainerRow &row) { return container->row() == row; };
  if (before != nullptr && before->trouble == mapping.trouble && before->doubts == mapping.doubts &&
      before->delimiter == mapping.delimiter &&
      std::equal(before->containers.begin(), before->containers.end(), rows.begin(), rows.end(), unchanged))
    return;

  auto fresh = std::make_shared<Snapshot>();
  fresh->delimiter = std::move(mapping.delimiter);
  fresh->trouble = std::move(mapping.trouble);
  fresh->doubts = std::move(mapping.doubts);
  for (ContainerRow &row : rows) {
    std::shared_ptr<const Container> container = before != nullptr ? before->find(row.name) : nullptr;
    if (container == nullptr || !unchanged(container, row))
      container = std::make_shared<const Container>(std::move(row));
    fresh->containers.push_back(std::move(container));
  }
  fresh->standard = fresh->find("default");
  if (fresh->standard == nullptr && !fresh->containers.empty()) fresh->standard = fresh->containers.front();
  log_news(before.get(), *fresh);

  const std::lock_guard guard(mutex_);
  snapshot_ = std::move(fresh);
  generation_.fetch_add(1, std::memory_order_release);
}

void Mappings::log_news(const Snapshot *before, const Snapshot &fresh) const {
  const std::string protocol(source_.protocol);
  if (!fresh.trouble.empty() && (before == nullptr || before->trouble != fresh.trouble))
    log::note("%s: %s", protocol.c_str(), fresh.trouble.c_str());
  for (const std::string &doubt : fresh.doubts) {
    if (before == nullptr || std::find(before->doubts.begin(), before->doubts.end(), doubt) == before->doubts.end())
      log::warning("%s: %s", protocol.c_str(), doubt.c_str());
  }
  for (const auto &container : fresh.containers) {
    if (container->problem().empty() || (before != nullptr && before->find(container->name()) == container)) continue;
    log::error("%s: container '%s' cannot be used: %s", protocol.c_str(), container->name().c_str(),
               container->problem().c_str());
  }
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
}

void Refresh::Reading::restart() {
  read = {};
}

Refresh::Refresh(Mappings &mappings, bool claimed)
    : mappings_(mappings), claimed_(claimed), tables_(std::make_unique<Table[]>(mappings.source().tables.size())) {}

/// Not before: while the tables are held by somebody, one client waits for them, and not one more each second.
Refresh::~Refresh() {
  if (claimed_) mappings_.end_claim(clock_ms());
}

void Refresh::add_table(Batch &batch, const MappingSource::Table &source, Table &table) const {
  Arena &arena = batch.arena();
  Op &open = batch.add();
  open.verb = Verb::open;
  open.internal = true;
  open.slot = &table.slot;
  open.spec = arena.make<TableSpec>(TableSpec{
      .database = mappings_.source().database, .table = source.name, .index = "PRIMARY", .columns = source.columns});
  open.reply = &table.opened;
  // The keys are names, and there is none before the empty one.
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
  const auto sources = mappings_.source().tables;
  for (size_t i = 0; i < sources.size(); ++i) add_table(batch, sources[i], tables_[i]);
}

void Refresh::publish(int64_t now_ms) {
  std::vector<MappingTable> read;
  for (size_t i = 0; i < mappings_.source().tables.size(); ++i) {
    Table &table = tables_[i];
    MappingTable &what = table.opened.read.there() ? table.found.read : table.opened.read;
    if (!what.there()) what.rows.clear();
    // What was read before stays.
    if (what.passing() && mappings_.generation() != 0) return;
    read.push_back(std::move(what));
  }
  mappings_.publish(mappings_.source().understand(read), now_ms);
}

}  // namespace postern::items
