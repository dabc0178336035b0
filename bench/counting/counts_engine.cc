// counts_engine.cc: the hot paths of the engine inside a real server, for bench/counts.py, which makes the tables.
//
// A daemon plugin for measuring alone: it counts on threads of its own once the server has started, and then shuts the
// server down. Errors go to stderr.
#include <mysql/plugin.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/executor.h"
#include "counting.h"
#include "engine/engine.h"

namespace postern::bench {
namespace {

class RowCount final : public Reply {
 public:
  Flow row(Row row) override {
    ++rows_;
    columns_ += row.size();
    return Flow::more;
  }
  void done(const Outcome &outcome) override {
    failures_ += outcome.failure != Failure::none;
    changed_ += outcome.changed;
  }
  void restart() override {}

  uint64_t rows() const { return rows_; }
  uint64_t changed() const { return changed_; }
  uint64_t failures() const { return failures_; }

 private:
  uint64_t rows_ = 0;
  uint64_t columns_ = 0;
  uint64_t changed_ = 0;
  uint64_t failures_ = 0;
};

/// An edit that changes the first column.
class NewName final : public Edit {
 public:
  Decision present(Row, Draft &next) override {
    next.set(0, Value::of(++edits_ % 2 != 0 ? "Yukari Takeba" : "Takeba Yukari"));
    return Decision::write;
  }

 private:
  uint64_t edits_ = 0;
};

/// One executor and its open tables. Used on one thread.
class Paths {
 public:
  Paths(Engine &engine, Access access)
      : executor_(engine.attach({.access = access, .name = "counts", .counters = &counters_}, stop_)) {}

  void count_reads() {
    if (!executor_) return fail("attach");
    TableSlot user, named, wide;
    open(user, "user", {"user_name", "user_email", "created"});
    open(named, "named", {"v"});
    open(wide, "wide", {"tiny", "big", "price", "day", "at", "kind", "note", "code", "ratio", "nothing"});
    const Value id[] = {Value::of("471")};
    const Value name[] = {Value::of("name471"), Value::of("471")};
    const std::vector<std::string> ids = numbers(50);
    std::vector<Value> in_list;
    for (const std::string &one : ids) in_list.push_back(Value::of(one));
    const Find by_id{.key = id};
    meet_adaptive_hash(user, by_id);
    count_finds("engine-find", user, by_id, 1, 1);
    count_finds("engine-find-x16", user, by_id, 16, 1);
    count_finds("engine-find-text-key-x16", named, {.key = name}, 16, 1);
    count_finds("engine-find-10-columns-x16", wide, by_id, 16, 1);
    count_finds("engine-find-in-50", user, {.key = id, .in_list = in_list, .limit = 50}, 1, 50);
    count_finds("engine-scan-50", user, {.comparison = Comparison::at_least, .key = id, .limit = 50}, 1, 50);
  }

  void count_writes() {
    if (!executor_) return fail("attach");
    TableSlot written, fresh;
    open(written, "written", {"user_name"});
    open(fresh, "fresh", {"id", "v"});
    const Value id[] = {Value::of("471")};
    const Value row[] = {Value::of("0"), Value::of("a value")};
    const Insert insert{row, OnDuplicate::fail};
    NewName new_name;
    const EditRows edit{{.key = id}, &new_name, false};
    const auto all_changed = [this] { return reply_.changed(); };
    Op op = op_on(fresh, Verb::insert);
    op.insert = &insert;
    count_ops("engine-insert-x16", op, 16, 16, all_changed);
    op = op_on(written, Verb::edit);
    op.edit = &edit;
    count_ops("engine-update-x16", op, 16, 16, all_changed);
  }

 private:
  static std::vector<std::string> numbers(int count) {
    std::vector<std::string> all;
    for (int i = 1; i <= count; ++i) all.push_back(std::to_string(i * 7));
    return all;
  }

  static void fail(const char *path) { std::fprintf(stderr, "counts_engine: %s did not do what it should\n", path); }

  Op op_on(TableSlot &slot, Verb verb) {
    Op op;
    op.verb = verb;
    op.reply = &reply_;
    op.slot = &slot;
    return op;
  }

  /// A lookup by the primary key.
  void open(TableSlot &slot, Bytes table, std::initializer_list<Bytes> columns) {
    const TableSpec spec{"test", table, "PRIMARY", columns};
    Op op = op_on(slot, Verb::open);
    op.spec = &spec;
    if (!executor_->run({.ops = {&op, 1}}).lasted() || reply_.failures() != 0) fail("open");
  }

  /// Searches often enough for the adaptive hash index to take in the page.
  void meet_adaptive_hash(TableSlot &slot, const Find &find) {
    Op op = op_on(slot, Verb::find);
    op.find = &find;
    std::vector<Op> batch(16, op);
    for (int i = 0; i < 100; ++i) executor_->run({.ops = batch});
  }

  void count_finds(const char *path, TableSlot &slot, const Find &find, size_t ops, uint64_t rows) {
    Op op = op_on(slot, Verb::find);
    op.find = &find;
    count_ops(path, op, ops, ops * rows, [this] { return reply_.rows(); });
  }

  /// Counts runs of `ops` times `op`, each of which increases the result of `got` by `expected`.
  template <class Got>
  void count_ops(const char *path, const Op &op, size_t ops, uint64_t expected, const Got &got) {
    std::vector<Op> batch(ops, op);
    bool right = true;
    count(path, ops, [&] {
      const uint64_t before = got();
      right = executor_->run({.ops = batch}).lasted() && got() - before == expected && right;
    });
    if (!right || reply_.failures() != 0) fail(path);
  }

  std::atomic<bool> stop_{false};
  Counters counters_;
  RowCount reply_;
  std::unique_ptr<Executor> executor_;
};

std::thread runner;

void count_all() {
  const std::unique_ptr<Engine> engine = engine::make_engine();
  Counting::prepare();
  // An executor enters and leaves the server with its thread.
  std::thread([&] { Paths(*engine, Access::read).count_reads(); }).join();
  std::thread([&] { Paths(*engine, Access::write).count_writes(); }).join();
  kill(getpid(), SIGTERM);
}

int init(void *) {
  runner = std::thread(count_all);
  return 0;
}

int deinit(void *) {
  runner.join();
  return 0;
}

}  // namespace
}  // namespace postern::bench

static st_mysql_daemon counts_descriptor = {MYSQL_DAEMON_INTERFACE_VERSION};

maria_declare_plugin(counts_engine){
    MYSQL_DAEMON_PLUGIN,
    &counts_descriptor,
    "counts_engine",
    "Postern",
    "Counts the instructions of the engine's hot paths",
    PLUGIN_LICENSE_GPL,
    postern::bench::init,
    postern::bench::deinit,
    0x0001,
    nullptr,
    nullptr,
    "0.1",
    MariaDB_PLUGIN_MATURITY_EXPERIMENTAL,
} maria_declare_plugin_end;
