// executor_test_fixture.h: ExecutorTest, on which the suites of executor_contract_suite.h stand: one executor of any
// engine, and ops for it. Of one thread.
//
// An engine's fixture supplies a table and the means to hold it and to change it:
//
//   struct MyFixture {
//     /// An executor of the engine that may write, on the calling thread.
//     std::unique_ptr<Executor> attach();
//     /// `contract.t(id int primary key, v varchar(20), n int, key n(n), key v(v))` with the rows (i, "v<i>", i / 10)
//     for i
//     /// from 1 to `rows`; n is NULL where i is a multiple of 7.
//     void make_table(int rows);
//     /// DDL holds contract.t, or no longer.
//     void hold_table(bool hold);
//     /// Drops contract.t; fails the test if somebody keeps it from that.
//     void drop_table();
//     /// SQL's error for a table in a database that is not there: number and SQLSTATE.
//     static constexpr const char *unknown_database = "1146 42S02";
//     static constexpr const char *no_number_state = "22007";  // where a column of numbers takes no such text
//   };
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract/batch.h"
#include "contract/executor.h"
#include "contract/testing/names.h"

namespace postern {

/// Remembers what an op heard.
class HeardReply final : public Reply {
 public:
  using Cell = std::optional<std::string>;

  void shape(std::span<const ColumnShape> its_columns) override {
    EXPECT_TRUE(rows.empty());
    ++shapes;
    shape_text.clear();
    for (const ColumnShape &one : its_columns)
      shape_text += std::string(one.name) + ' ' + std::to_string(one.type) + (one.flags & 1 ? " not null\n" : "\n");
  }
  Flow row(Row row) override {
    EXPECT_FALSE(taken);
    std::vector<Cell> &cells = rows.emplace_back();
    for (const Value &value : row) {
      switch (value.kind()) {
        case Value::Kind::null: cells.emplace_back(); break;
        case Value::Kind::bytes: cells.emplace_back(value.bytes()); break;
        case Value::Kind::integer: cells.emplace_back(std::to_string(value.integer())); break;
        case Value::Kind::natural: cells.emplace_back(std::to_string(value.natural())); break;
      }
    }
    for (const Cell &cell : cells) text_ += cell.value_or("NULL") + ' ';
    text_ += '\n';
    return pause_after != 0 && rows.size() % pause_after == 0 ? Flow::pause : Flow::more;
  }
  Flow still_wanted(uint32_t of_columns) override {
    ++looks;
    columns = of_columns;
    return pause_at_looks ? Flow::pause : Flow::more;
  }
  void done(const Outcome &outcome) override {
    ++dones;
    failure = outcome.failure;
    columns = outcome.columns;
    counted = outcome.rows;
    changed = outcome.changed;
    message = outcome.message;
    sql_error = outcome.sql_error();
    order = next_order()++;
  }
  Bytes written() const override {
    EXPECT_EQ(dones, 1);
    return text_;
  }
  bool take(Bytes written) override {
    EXPECT_TRUE(rows.empty());
    if (!takes) return false;
    taken = true;
    text_ = written;
    ++dones;
    order = next_order()++;
    return true;
  }
  void restart() override {
    rows.clear();
    text_.clear();
    taken = false;
    dones = 0;
  }

  /// Everything it heard, or took from another reply.
  const std::string &text() const { return text_; }
  /// The first column of every row, for tests that need no more.
  std::vector<std::string> firsts() const {
    std::vector<std::string> found;
    for (const std::vector<Cell> &row : rows) found.push_back(row[0].value_or("NULL"));
    return found;
  }

  static int &next_order() {
    static int next = 0;
    return next;
  }

  size_t pause_after = 0;       ///< rows; 0 for never
  bool pause_at_looks = false;  ///< ask for a pause at every look
  int shapes = 0;               ///< calls of shape() in all
  std::string shape_text;       ///< the last one: name, type, `not null`
  bool takes = false;           ///< what other replies have written
  bool taken = false;           ///< and has done so
  int looks = 0;
  std::vector<std::vector<Cell>> rows;
  int dones = 0;
  int order = -1;  ///< among all dones of the test
  Failure failure = Failure::none;
  uint32_t columns = 0;
  uint64_t counted = 0;
  uint64_t changed = 0;
  std::string message;
  SqlError sql_error;

 private:
  std::string text_;
};

/// Decides as a test says.
class TestEdit final : public Edit {
 public:
  using Decide = std::function<Decision(Row, Draft &)>;
  explicit TestEdit(Decide decide) : decide_(std::move(decide)) {}
  Decision present(Row now, Draft &next) override {
    ++presented;
    return decide_(now, next);
  }
  int presented = 0;

 private:
  Decide decide_;
};

template <class Fixture>
class ExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    fixture_.make_table(100);
    executor_ = fixture_.attach();
    ASSERT_NE(executor_, nullptr);
  }
  void TearDown() override {
    slots_.clear();  // while their executor lives
    executor_.reset();
  }

  TableSlot &slot(std::unique_ptr<TableSlot> previous = nullptr) {
    slots_.push_back(std::make_unique<TableSlot>(std::move(previous)));
    return *slots_.back();
  }
  HeardReply &heard() { return replies_.emplace_back(); }

  HeardReply &open(TableSlot &slot, const Names &names = {"contract", "t", "PRIMARY", {"id", "v"}, {"n"}}) {
    Op op;
    op.verb = Verb::open;
    op.slot = &slot;
    TableSpec &spec = *batch_.arena().template make<TableSpec>(names.spec());
    for (std::span<const Bytes> *const list : {&spec.columns, &spec.filter_columns}) {
      const std::span<Bytes> kept = batch_.arena().template array<Bytes>(list->size());
      std::copy(list->begin(), list->end(), kept.begin());
      *list = kept;
    }
    op.spec = &spec;
    return add(op);
  }
  HeardReply &find(TableSlot &slot, const Find &find) {
    Op op;
    op.verb = Verb::find;
    op.slot = &slot;
    op.find = batch_.arena().template make<Find>(find);
    return add(op);
  }
  HeardReply &insert(TableSlot &slot, std::vector<Value> values, OnDuplicate on_duplicate = OnDuplicate::fail) {
    const std::span<Value> kept = batch_.arena().template array<Value>(values.size());
    std::copy(values.begin(), values.end(), kept.begin());
    Op op;
    op.verb = Verb::insert;
    op.slot = &slot;
    op.insert = batch_.arena().template make<Insert>(Insert{kept, on_duplicate});
    return add(op);
  }
  /// An insert that `decide` is asked about if there is a row already.
  HeardReply &decide(TableSlot &slot, std::vector<Value> values, TestEdit::Decide decide) {
    const std::span<Value> kept = batch_.arena().template array<Value>(values.size());
    std::copy(values.begin(), values.end(), kept.begin());
    Op op;
    op.verb = Verb::insert;
    op.slot = &slot;
    edits_.emplace_back(std::move(decide));
    op.insert = batch_.arena().template make<Insert>(Insert{kept, OnDuplicate::decide, &edits_.back(), true});
    return add(op);
  }
  HeardReply &edit(TableSlot &slot, const Find &find, TestEdit::Decide decide, bool rows_wanted = false,
                   bool erases = false) {
    Op op;
    op.verb = Verb::edit;
    op.slot = &slot;
    edits_.emplace_back(std::move(decide));
    op.edit = batch_.arena().template make<EditRows>(EditRows{find, &edits_.back(), rows_wanted, erases});
    return add(op);
  }
  HeardReply &answer(Failure failure, TableSlot *slot = nullptr) {
    Op op;
    op.failure = failure;
    op.slot = slot;
    return add(op);
  }

  Find key(std::string_view value, Comparison comparison = Comparison::equal, uint64_t limit = 1) {
    const std::span<Value> values = batch_.arena().template array<Value>(1);
    values[0] = Value::of(batch_.arena().copy(value));
    return {.comparison = comparison, .key = values, .limit = limit};
  }

  /// Runs the ops added so far. Returns the numbers of the ops that a watcher heard of, each right after it was done.
  std::vector<size_t> run_watched() {
    struct Listener final : Watcher {
      void op_done(const Op &op) override {
        EXPECT_EQ(op.progress, Progress::done);
        EXPECT_EQ(static_cast<HeardReply *>(op.reply)->dones, 1);
        for (const Op *next = &op + 1; next <= &ops.back(); ++next) {
          EXPECT_EQ(static_cast<HeardReply *>(next->reply)->dones, 0);
        }
        heard.push_back(static_cast<size_t>(&op - ops.data()));
      }
      std::span<Op> ops;
      std::vector<size_t> heard;
    } listener;
    listener.ops = batch_.ops();
    EXPECT_TRUE(executor_->run({.ops = batch_.ops(), .watcher = &listener}).lasted());
    return listener.heard;
  }
  void run(Lane lane = Lane::turn) { EXPECT_TRUE(executor_->run({.ops = batch_.ops(), .lane = lane}).lasted()); }
  /// Runs the only op that was added by itself, as the slow lane does, until it is done.
  void run_alone() {
    std::unique_ptr<Position> position;
    Op &op = batch_.ops()[0];
    op.position = &position;
    EXPECT_TRUE(executor_->run({.ops = {&op, 1}, .lane = Lane::alone}).lasted());
    EXPECT_EQ(op.progress, Progress::done);
    batch_.clear();
  }
  /// The first columns of what `find` finds in the slow lane with a pause after every so many rows; 0: without one.
  std::vector<std::string> firsts_with_pauses(TableSlot &slot, const Find &find, size_t pause_after) {
    HeardReply &reply = this->find(slot, find);
    reply.pause_after = pause_after;
    std::unique_ptr<Position> position;
    Op &op = batch_.ops()[0];
    op.position = &position;
    do run(Lane::alone);
    while (op.progress == Progress::paused);
    EXPECT_EQ(op.progress, Progress::done);
    EXPECT_EQ(reply.failure, Failure::none);
    batch_.clear();
    return reply.firsts();
  }
  /// The rows of contract.t with ids from `first` to `last`, as another thread's executor sees them: "id v n".
  std::vector<std::string> stored(int first, int last) {
    std::vector<std::string> rows;
    std::thread([&] { rows = read_rows(first, last); }).join();
    return rows;
  }
  /// Runs the ops added so far and forgets them; all of them must be done.
  void run_all() {
    run();
    for (const Op &op : batch_.ops()) EXPECT_EQ(op.progress, Progress::done);
    batch_.clear();
  }
  /// A slot that is open.
  TableSlot &opened(const Names &names = {"contract", "t", "PRIMARY", {"id", "v"}, {"n"}}) {
    TableSlot &made = slot();
    EXPECT_EQ(open(made, names).dones, 0);
    run_all();
    EXPECT_TRUE(made.filled());
    return made;
  }

  Fixture fixture_;
  std::unique_ptr<Executor> executor_;
  Batch batch_;

 private:
  HeardReply &add(Op op) {
    HeardReply &reply = heard();
    op.reply = &reply;
    batch_.add(std::move(op));
    return reply;
  }

  std::vector<std::string> read_rows(int first, int last) {
    const std::unique_ptr<Executor> other = fixture_.attach();
    TableSlot slot;
    Batch batch;
    HeardReply opened, found;
    const Names names{"contract", "t", "PRIMARY", {"id", "v", "n"}};
    const TableSpec spec = names.spec();
    Op open;
    open.verb = Verb::open;
    open.reply = &opened;
    open.slot = &slot;
    open.spec = &spec;
    batch.add(std::move(open));
    const std::string key = std::to_string(first);
    const Value value = Value::of(key);
    const Find find{.comparison = Comparison::at_least, .key = {&value, 1}, .limit = 1'000};
    Op op;
    op.verb = Verb::find;
    op.reply = &found;
    op.slot = &slot;
    op.find = &find;
    batch.add(std::move(op));
    EXPECT_TRUE(other->run({.ops = batch.ops()}).lasted());
    std::vector<std::string> rows;
    for (const auto &row : found.rows) {
      if (std::stoi(*row[0]) > last) break;
      rows.push_back(*row[0] + " " + row[1].value_or("NULL") + " " + row[2].value_or("NULL"));
    }
    return rows;
  }

  std::vector<std::unique_ptr<TableSlot>> slots_;
  std::deque<HeardReply> replies_;
  std::deque<TestEdit> edits_;
};

}  // namespace postern
