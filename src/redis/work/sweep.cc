#include "redis/work/sweep.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "items/config_tables.h"
#include "items/expiry.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

/// Elements of one key that a transaction deletes: a key with more takes several.
constexpr uint64_t elements_at_once = 10'000;

class Unheard final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {}
  void restart() override {}
};

/// Deletes rows of keys, each if it still is one that has expired.
class ExpiredWork final : public Work {
 public:
  ExpiredWork(const Setting &setting, std::span<const std::vector<std::string>> keys) : Work(setting), keys_(keys) {}

  /// For the last run.
  const std::vector<const std::vector<std::string> *> &deleted() const { return deleted_; }
  bool has_failed() const { return failed_; }

 private:
  void failed(const StepReply &) override { failed_ = true; }

  Task<> run() override {
    deleted_.clear();
    failed_ = false;
    return open().map->generic() ? delete_entries() : delete_rows();
  }

  Task<> delete_rows() {
    EditBy erase([this](Row row, Draft &) {
      return state_of(*open().map, row, now_ms()).expired ? Decision::erase : Decision::keep;
    });
    std::vector<const StepReply *> erased;
    for (const auto &key : keys_)
      erased.push_back(&add_edit(open().table, {.key = key_of(key), .limit = 1}, erase, true));
    co_await go();
    for (size_t i = 0; i < erased.size(); ++i)
      if (erased[i]->changed != 0) deleted_.push_back(&keys_[i]);
  }

  Task<> delete_entries() {
    std::vector<std::pair<const std::vector<std::string> *, StepReply *>> locked;
    for (const auto &key : keys_) locked.emplace_back(&key, &add_lock(open().table, {.key = key_of(key), .limit = 1}));
    co_await go();
    std::vector<std::pair<const std::vector<std::string> *, Type>> expired;
    for (const auto &[key, reply] : locked) {
      if (reply->rows.empty()) continue;
      const KeyState state = state_of_cells(*open().map, reply->rows.front());
      if (state.expired) expired.emplace_back(key, state.type);
    }
    std::vector<std::vector<const StepReply *>> elements(expired.size());
    for (size_t i = 0; i < expired.size(); ++i)
      for (OpenTable *const table : tables_of(expired[i].second))
        elements[i].push_back(&add_erase(*table, {.key = key_of(*expired[i].first), .limit = elements_at_once}));
    co_await go();
    std::vector<const std::vector<std::string> *> emptied;
    const auto is_emptied = [](const StepReply *erased) { return erased->changed < elements_at_once; };
    for (size_t i = 0; i < expired.size(); ++i)
      if (std::all_of(elements[i].begin(), elements[i].end(), is_emptied)) emptied.push_back(expired[i].first);
    for (const auto *const key : emptied) add_erase(open().table, {.key = key_of(*key), .limit = 1});
    co_await go();
    deleted_.clear();
    for (const auto *const key : emptied) deleted_.push_back(key);
  }

  std::span<const Value> key_of(const std::vector<std::string> &key) {
    const std::span<Value> values = this->values(key.size());
    for (size_t i = 0; i < key.size(); ++i) values[i] = Value::of(key[i]);
    return values;
  }

  const std::span<const std::vector<std::string>> keys_;
  std::vector<const std::vector<std::string> *> deleted_;
  bool failed_ = false;
};

/// Collects the keys of expired rows.
class KeysReply final : public Reply {
 public:
  explicit KeysReply(uint32_t columns) : columns_(columns) {}
  Flow row(Row row) override {
    std::vector<std::string> &key = keys.emplace_back();
    for (uint32_t i = 0; i < columns_; ++i) {
      char room[20];
      key.emplace_back(text_of(row[i], room));
    }
    return Flow::more;
  }
  void done(const Outcome &) override {}
  void restart() override { keys.clear(); }

  std::vector<std::vector<std::string>> keys{};

 private:
  const uint32_t columns_;
};

/// Marks the door's own work; its failures are not counted.
void make_internal(std::span<Op> ops) {
  for (Op &op : ops) op.internal = true;
}

}  // namespace

struct Sweep::Sweeping {
  Executor &executor;
  const std::function<bool()> &goes_on;
  const int64_t now_ms;
  Batch batch{};

  void run(Lane lane) {
    make_internal(batch.ops());
    executor.run({.ops = batch.ops(), .units = batch.units(), .lane = lane});
  }
};

/// The table by its index on the expiry.
struct Sweep::Index {
  TableSlot slot{};
  std::vector<Bytes> columns{};
  TableSpec spec{};
};

uint64_t Sweep::run(Executor &executor, const std::function<bool()> &goes_on) {
  if (rows_max_ == 0) return 0;
  refresh(executor);
  Sweeping sweeping{executor, goes_on, wall_clock_ms()};
  const MapSnapshot *const snapshot = open_.snapshot();
  uint64_t deleted = 0;
  for (uint32_t number = 0; snapshot != nullptr && number < snapshot->maps().size() && goes_on(); ++number) {
    const Map &map = *snapshot->maps()[number];
    if (map.keeps_expiry() && map.may_delete() && map.problem().empty()) deleted += sweep(sweeping, number);
  }
  executor.idle();
  return deleted;
}

void Sweep::refresh(Executor &executor) {
  items::Refresh refresh(maps_);
  Batch batch;
  batch.begin(0);
  refresh.add_to(batch);
  if (executor.run({.ops = batch.ops()}).lasted()) refresh.publish(clock_ms());
  if (generation_ == maps_.generation()) return;
  generation_ = maps_.generation();
  open_.use(maps_.snapshot());
}

uint64_t Sweep::sweep(Sweeping &sweeping, uint32_t number) {
  Batch &batch = sweeping.batch;
  batch.clear();
  batch.begin(0);
  OpenMap &open = open_.open(number, batch);
  if (open.map->generic())
    for (const Elements which : {Elements::hashes, Elements::sets, Elements::zsets, Elements::lists, Elements::streams,
                                 Elements::stream_groups, Elements::stream_consumers, Elements::stream_pending})
      open_.open(open, which, batch);
  const Map &map = *open.map;
  Index index;
  index.columns.assign(map.leading_columns().begin(), map.leading_columns().end());
  index.spec = {.database = map.row().database,
                .table = map.row().table,
                .index = map.row().expire_column,
                .columns = index.columns,
                .unicode = true};
  Unheard unheard;
  Op &op = batch.add();
  op.verb = Verb::open;
  op.reply = &unheard;
  op.slot = &index.slot;
  op.spec = &index.spec;
  sweeping.run(Lane::turn);
  open_.settled();
  uint64_t deleted = 0;
  while (index.slot.filled() && deleted < rows_max_ && sweeping.goes_on()) {
    const std::vector<Key> keys = find_expired(sweeping, map, index);
    const uint64_t now = delete_keys(sweeping, open, keys);
    deleted += now;
    if (now == 0 || keys.size() < rows_at_once) break;
  }
  batch.clear();
  return deleted;
}

std::vector<Sweep::Key> Sweep::find_expired(Sweeping &sweeping, const Map &map, Index &index) {
  Batch &batch = sweeping.batch;
  batch.clear();
  batch.begin(0);
  // Keys are texts.
  const std::string passed = std::to_string(map.from_column(1) == 1 ? sweeping.now_ms : sweeping.now_ms / 1'000);
  const Value never = Value::of("0");
  const Value now = Value::of(passed);
  const Find find{.comparison = Comparison::greater, .key = {&never, 1}, .limit = rows_at_once, .until = {&now, 1}};
  KeysReply reply(map.key_columns());
  Op &op = batch.add();
  op.verb = Verb::find;
  op.reply = &reply;
  op.slot = &index.slot;
  op.find = &find;
  sweeping.run(Lane::turn);
  const bool done = batch.ops()[0].progress == Progress::done;
  batch.clear();
  return done ? std::move(reply.keys) : std::vector<Key>{};
}

void Sweep::tell_deleted(const Map &map, const Key &key) const {
  if (!tell_) return;
  std::string name(map.prefix());
  for (size_t i = 0; i < key.size(); ++i) {
    if (i != 0) name.append(map.row().separator);
    name.append(key[i]);
  }
  tell_(static_cast<uint8_t>(map.db()), std::move(name));
}

/// If one cannot be deleted now, the others are deleted one by one.
uint64_t Sweep::delete_keys(Sweeping &sweeping, OpenMap &open, std::span<const Key> keys) {
  if (keys.empty() || !sweeping.goes_on()) return 0;
  Output output;
  ExpiredWork work({output, Resp::two, sweeping.now_ms, open}, keys);
  Batch &batch = sweeping.batch;
  batch.clear();
  batch.begin(0);
  Op &op = batch.add();
  op.verb = Verb::script;
  op.reply = &work;
  op.script = &work;
  op.internal = true;
  const bool lasted = sweeping.executor.run({.ops = batch.ops(), .lane = Lane::alone}).lasted();
  const bool done = lasted && batch.ops()[0].progress == Progress::done && !work.has_failed();
  batch.clear();
  if (done) {
    for (const Key *const key : work.deleted()) tell_deleted(*open.map, *key);
    return work.deleted().size();
  }
  uint64_t deleted = 0;
  if (keys.size() > 1)
    for (const Key &key : keys) deleted += delete_keys(sweeping, open, {&key, 1});
  return deleted;
}

}  // namespace postern::redis
