// toy_engine.h: ToyEngine, which misbehaves on command; toy_protocol.h has the requests.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "contract/executor.h"
#include "door/testing/toy_protocol.h"

namespace postern::door {

class ToyEngine final : public Engine {
 public:
  std::atomic<bool> ready{true};          ///< threads may attach
  std::atomic<bool> lane_ready{true};     ///< so may committers
  std::atomic<bool> lane_fails{false};    ///< no committer can attach
  std::atomic<bool> stopping{false};      ///< set by stop()
  std::atomic<bool> busy{false};          ///< DDL holds the table
  std::atomic<bool> lone_busy{false};     ///< somebody holds it whenever such a request is let in
  std::atomic<int> lone_left{0};          ///< times such a request was left to be run alone
  std::atomic<bool> row_locked{false};    ///< by somebody's transaction
  std::atomic<int> rows_tried{0};         ///< times the slow lane has tried to change it
  std::atomic<int> row_tries{0};          ///< that are under way
  std::atomic<int> row_tries_max{0};      ///< since this was set to 0
  std::atomic<int> patient_tries{0};      ///< those that may wait for limits::row_wait_slow_ms
  std::atomic<int> patient_tries_max{0};  ///< likewise
  std::atomic<int> tries_at_lone{0};      ///< for row or table, when a worker last left a request that has to run alone
  std::atomic<int> tries_before_lone{0};  ///< between that and the slow lane's running it
  std::atomic<bool> wanted{false};        ///< DDL waits for the table: a slow find pauses every 100 rows
  std::atomic<int> holding{0};            ///< executors that ran and have not been idle since
  std::atomic<int> attached{0};
  std::atomic<bool> found{false};  ///< searches end
  std::atomic<int> searching{0};
  std::atomic<int> searches{0};  ///< runs of such a find
  std::atomic<int> runs_slow{0};
  std::atomic<int> tables_tried_slow{0};  ///< requests for the table that the slow lane has run
  std::atomic<int> tables_slow{0};        ///< requests for the table that were answered in the slow lane
  std::atomic<int> holding_up{0};         ///< requests that wait for the next
  std::atomic<int> holds{0};              ///< requests of that kind that may end
  std::atomic<int> committing{0};         ///< runs that wait for the next
  std::atomic<int> commits{0};            ///< runs with writes that may end
  std::atomic<int> commit_us{0};          ///< how long a run with writes sleeps besides
  std::atomic<int> written{0};            ///< requests to write with a committed run
  std::atomic<int> flushing{0};           ///< flushes that wait for the next
  std::atomic<int> flushes{0};            ///< flushes that may end
  std::atomic<bool> flush_fails{false};   ///< when they end
  std::atomic<bool> leaves_rows{false};   ///< runs with writes count rows that they had to leave

  std::atomic<bool> commits_wait{false};  ///< Engine::commits_may_wait()
  std::atomic<bool> keeps_tables{true};   ///< Executor::keeps_tables()

  bool up() const override { return ready; }
  bool commits_may_wait() const override { return commits_wait; }
  bool flush() override {
    ++flushing;
    while (!stopping && flushes == 0) std::this_thread::yield();
    --flushes;
    --flushing;
    return !flush_fails;
  }
  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override;

  /// What threads have said of themselves for the process list, without repetitions.
  std::vector<std::string> descriptions() {
    const std::lock_guard guard(mutex_);
    return descriptions_;
  }

  int tries() const { return rows_tried + tables_tried_slow; }

  /// The server goes down.
  void stop() {
    stopping = true;
    const std::lock_guard guard(mutex_);
    for (const int fd : wake_fds_) eventfd_write_one(fd);
  }

 private:
  friend class ToyExecutor;
  static bool is_committer(const ThreadIdentity &who) {
    return std::string_view(who.name).find(" commit ") != std::string_view::npos;
  }
  static void eventfd_write_one(int fd) {
    const uint64_t one = 1;
    if (::write(fd, &one, sizeof one) < 0) return;
  }
  void note_description(Bytes text) noexcept {
    const std::lock_guard guard(mutex_);
    if (std::find(descriptions_.begin(), descriptions_.end(), text) != descriptions_.end()) return;
    try {
      descriptions_.emplace_back(text);
    } catch (const std::bad_alloc &) {
    }
  }
  std::mutex mutex_;
  std::vector<int> wake_fds_;
  std::vector<std::string> descriptions_;
};

class ToyExecutor final : public Executor {
 public:
  ToyExecutor(ToyEngine &engine, const ThreadIdentity &who, const std::atomic<bool> &stop)
      : engine_(engine), who_(who), stop_(stop) {
    ++engine_.attached;
  }
  ~ToyExecutor() override {
    idle();
    const std::lock_guard guard(engine_.mutex_);
    std::erase(engine_.wake_fds_, who_.wake_fd);
    --engine_.attached;
  }

  Settlement run(const Run &run) override {
    lane_ = run.lane;
    answers_may_wait_ = run.answers_may_wait;
    try {
      return run_all(run);
    } catch (const std::bad_alloc &) {
      return {.failure = Failure::out_of_memory, .repeatable = run.lane == Lane::turn};
    }
  }
  Settlement run_all(const Run &run) {
    const std::span<Op> ops = run.ops;
    Watcher *watcher = run.watcher;
    if (!holding_) ++engine_.holding;
    holding_ = true;
    who_.counters->add(Counter::batches);
    std::vector<uint32_t> stuck;
    if (std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); })) watcher = nullptr;
    const Unit *unit = run.units.data();
    for (Op &op : ops) {
      if (std::find(stuck.begin(), stuck.end(), op.connection) != stuck.end()) {
        op.progress = Progress::waiting;
        continue;
      }
      const auto at = static_cast<size_t>(&op - ops.data());
      while (unit != run.units.data() + run.units.size() && unit->first + unit->count <= at) ++unit;
      const bool in_unit = unit != run.units.data() + run.units.size() && unit->first <= at;
      op.progress = in_unit && lane_ == Lane::turn ? Progress::needs_own_run : execute(op);
      if (in_unit && op.progress != Progress::done && unit->first != at) {
        for (Op &done : ops.subspan(unit->first, unit->count)) {
          done.reply->restart();
          done.progress = std::exchange(op.progress, Progress::waiting);
        }
      }
      if (op.progress != Progress::done) {
        stuck.push_back(op.connection);
      } else if (watcher != nullptr) {
        watcher->op_done(op);
      }
    }
    const auto written = std::count_if(ops.begin(), ops.end(), [](const Op &op) {
      return writes(op.verb) && !is_row(op) && op.progress == Progress::done;
    });
    if (written != 0 && engine_.leaves_rows) who_.counters->add(Counter::row_lock_yields);
    if (written != 0) commit();
    engine_.written += static_cast<int>(written);
    return {};
  }
  int64_t row_wait_ms() noexcept override { return 50'000; }
  void allow_row_wait(int ms) noexcept override { row_wait_ms_ = ms; }
  void idle() noexcept override {
    if (holding_) --engine_.holding;
    holding_ = false;
  }
  bool server_stopping() noexcept override { return engine_.stopping; }
  void describe(Bytes text) noexcept override { engine_.note_description(text); }
  bool keeps_tables() const noexcept override { return engine_.keeps_tables; }

 private:
  struct Place final : Position {
    uint64_t row = 0;
  };

  Progress execute(Op &op) {
    if (op.verb == Verb::statement) return Progress::needs_own_run;  // for the statement pool
    if (op.verb == Verb::find) return find(op);
    return is_row(op) ? change_row(op) : finish(op, op.failure);
  }

  static bool is_row(const Op &op) { return writes(op.verb) && op.slot != nullptr; }

  Progress change_row(Op &op) {
    if (lane_ == Lane::turn) return engine_.row_locked ? Progress::locked : finish(op, Failure::none);
    ++engine_.rows_tried;
    const bool patient = row_wait_ms_ == limits::row_wait_slow_ms;
    note_most(++engine_.row_tries, engine_.row_tries_max);
    if (patient) note_most(++engine_.patient_tries, engine_.patient_tries_max);
    const auto work_ms = static_cast<int64_t>(op.edit->find.limit);
    sleep_while([] { return true; }, work_ms);
    sleep_while([this] { return engine_.row_locked.load(); }, std::max<int64_t>(row_wait_ms_, work_ms));
    if (patient) --engine_.patient_tries;
    --engine_.row_tries;
    return engine_.row_locked ? Progress::locked : finish(op, Failure::none);
  }

  static void note_most(int now, std::atomic<int> &most) {
    int known = most;
    while (known < now && !most.compare_exchange_weak(known, now)) continue;
  }

  template <class Condition>
  void sleep_while(Condition condition, int64_t ms_max) {
    const int64_t until_ms = clock_ms() + ms_max;
    while (!stop_ && !engine_.stopping && clock_ms() < until_ms && condition())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void commit() {
    wait_for(engine_.commits, engine_.committing);
    if (engine_.commit_us != 0) std::this_thread::sleep_for(std::chrono::microseconds(engine_.commit_us));
  }

  void wait_for(std::atomic<int> &leave, std::atomic<int> &waiting) {
    ++waiting;
    while (!stop_ && !engine_.stopping && leave == 0) std::this_thread::yield();
    --leave;
    --waiting;
  }

  Progress finish(Op &op, Failure failure) {
    op.reply->done(Outcome{.failure = failure});
    return Progress::done;
  }

  Progress find(Op &op) {
    const bool slow = lane_ == Lane::alone;
    if (slow) ++engine_.runs_slow;
    switch (static_cast<ToyAsk>(op.find->key[0].natural())) {
      case ToyAsk::table:
        if (slow) ++engine_.tables_tried_slow;
        if (engine_.busy) return Progress::busy;
        if (slow) ++engine_.tables_slow;
        return finish(op, Failure::none);
      case ToyAsk::lone:
        if (!slow) {
          ++engine_.lone_left;
          engine_.tries_at_lone = engine_.tries();
          return Progress::needs_own_run;
        }
        engine_.tries_before_lone = engine_.tries() - engine_.tries_at_lone;
        return engine_.lone_busy ? Progress::busy : finish(op, Failure::none);
      case ToyAsk::search:
        if (!slow) return Progress::paused;
        ++engine_.searching;
        ++engine_.searches;
        while (!stop_ && !engine_.stopping && !engine_.found && op.reply->still_wanted(1) == Flow::more)
          std::this_thread::yield();
        --engine_.searching;
        return engine_.found ? finish(op, Failure::none) : Progress::paused;
      case ToyAsk::commit:
        if (!slow && !answers_may_wait_) return Progress::needs_own_run;
        op.unflushed = !slow;
        return finish(op, Failure::none);
      case ToyAsk::hold: wait_for(engine_.holds, engine_.holding_up); return finish(op, Failure::none);
      case ToyAsk::rows: return rows(op, Failure::none);
      case ToyAsk::broken: return rows(op, Failure::engine_error);
    }
    return finish(op, Failure::internal);
  }

  Progress rows(Op &op, Failure at_end) {
    const bool slow = lane_ == Lane::alone;
    if (slow && *op.position == nullptr) *op.position = std::make_unique<Place>();
    uint64_t from = slow ? static_cast<Place &>(**op.position).row : 0;
    std::string text(op.find->key[1].natural(), 'x');
    for (uint64_t row = from; row != op.find->limit; ++row) {
      if (!slow && row == limits::find_rows_fast_max) return Progress::paused;
      if (slow && engine_.wanted && row != from && row % 100 == 0) {
        static_cast<Place &>(**op.position).row = row;
        return Progress::paused;
      }
      print_row(row, text);
      const Value value = Value::of(text);
      const Flow flow = op.reply->row({&value, 1});
      if (flow == Flow::more) continue;
      if (slow) static_cast<Place &>(**op.position).row = row + 1;
      return Progress::paused;
    }
    return finish(op, at_end);
  }

 public:
  static void print_row(uint64_t row, std::string &text) {
    std::fill_n(text.begin(), std::min<size_t>(text.size(), 10), '_');
    const std::string number = std::to_string(row);
    std::copy_n(number.begin(), std::min(number.size(), text.size()), text.begin());
  }

 private:
  ToyEngine &engine_;
  const ThreadIdentity who_;
  const std::atomic<bool> &stop_;
  int row_wait_ms_ = limits::row_wait_slow_ms;
  Lane lane_ = Lane::turn;  // the run's
  bool answers_may_wait_ = false;
  bool holding_ = false;
};

inline std::unique_ptr<Executor> ToyEngine::attach(const ThreadIdentity &who, const std::atomic<bool> &stop) {
  const bool in_lane = is_committer(who);
  while (!(ready && (lane_ready || !in_lane)) && !stop && !stopping)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard guard(mutex_);
  if (stop || stopping || (lane_fails && in_lane)) return nullptr;
  wake_fds_.push_back(who.wake_fd);
  return std::make_unique<ToyExecutor>(*this, who, stop);
}

/// What `rows count size` answers.
inline std::string rows_text(uint64_t count, size_t size) {
  std::string all;
  std::string text(size, 'x');
  for (uint64_t row = 0; row < count; ++row) {
    ToyExecutor::print_row(row, text);
    all += text;
  }
  return all + "end\n";
}

}  // namespace postern::door
