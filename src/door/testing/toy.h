// toy.h: the service of the tests of this folder: ToyProtocol and ToyEngine, a protocol and an engine that misbehave on
// command, and DoorTest, a door over them.
//
// Requests, one a line:   say TEXT     the engine is asked nothing; answers TEXT
//                         rows N SIZE  N rows of SIZE bytes, then `end`; a number is the first bytes of each row
//                         table        waits while ToyEngine::busy; answers `free`
//                         lone         has to run alone, and waits while ToyEngine::lone_busy; answers `free`
//                         break N      N rows, then the engine fails
//                         search       reads without finding a row until ToyEngine::found or it has to stop;
//                                      then `none`, and `?` before that if its reader was in doubt
//                         hold         waits for ToyEngine::holds; answers `held`
//                         row MS       a write that works for MS milliseconds and then waits while
//                                      ToyEngine::row_locked, in the slow lane as long as it may; answers `changed`
//                         write        a run with such requests waits for ToyEngine::commits; answers `done`
//                         as NAME      answers `ok`, after which the client is NAME; no later request is parsed before
//                         wait NAME    the same by way of the slow lane
//                         who          answers with that name
//                         tls          answers `begin`; after that the stream is TLS
//                         sleep NAME MS  sleeps until a `wake NAME`, and answers `woken`, or `late` after so
//                                      many milliseconds; 0: never late
//                         wake NAME    answers `ok`; sleepers of that name wake when that is settled
//                         listen NAME  answers `ok`; each text for NAME is sent as it comes
//                         tell NAME TEXT  answers `ok`; listeners of that name are sent TEXT when that is settled
//                         unit A;B;C   those requests as one unit
//                         bye          answers `bye`; the connection is closed after that
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/passage.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "door/door.h"
#include "door/testing/test_client.h"

namespace postern::door {

class ToyReply final : public Reply {
 public:
  ToyReply(Output &output, Bytes answer) : output_(output), passage_(output), answer_(answer) {}

  Flow row(Row row) override {
    if (!passage_.begun()) passage_.begin();
    const Bytes bytes = row[0].bytes();
    if (!output_.streaming() && output_.flow(passage_.start(), bytes.size()) == Flow::pause) return Flow::pause;
    output_.put(bytes);
    return output_.streaming() ? output_.flow(passage_.start()) : Flow::more;
  }
  Flow still_wanted(uint32_t) override {
    if (!passage_.begun() && output_.doubts_reader()) {
      passage_.begin();
      output_.put('?');
    }
    return output_.still_wanted();
  }
  void done(const Outcome &outcome) override {
    if (outcome.failure == Failure::none) return put_line(answer_);
    if (!passage_.take_back()) return;
    put_line(failure_name(outcome.failure));
  }
  void restart() override { passage_.take_back(); }

 private:
  void put_line(Bytes text) {
    output_.put(text);
    output_.put('\n');
  }

  Output &output_;
  Passage passage_;
  Bytes answer_;
};

/// What ToyEngine is asked; travels as the key of a find.
enum class ToyAsk : uint64_t { rows, table, lone, broken, search, hold };

/// The sleeping sessions, by name.
struct ToySleepers {
  std::mutex mutex;
  std::multimap<std::string, Waker *> by_name;

  struct Listener {
    Waker *waker;
    std::string told{};
  };
  std::multimap<std::string, Listener> listeners;
};

class ToySession final : public Session {
 public:
  ToySession(Output &output, const Peer &peer, std::string greeting, ToySleepers &sleepers)
      : output_(output), peer_(peer), greeting_(std::move(greeting)), sleepers_(sleepers) {
    slot_.fill(&binding_);
  }
  ~ToySession() override {
    stop_sleeping();
    const std::lock_guard guard(sleepers_.mutex);
    std::erase_if(sleepers_.listeners, [this](const auto &one) { return one.second.waker == waker_; });
  }

  bool may_sleep() const override { return true; }
  void take_waker(Waker &waker) override { waker_ = &waker; }
  int64_t wake_ms() const override { return wake_ms_; }

  void open() override {
    EXPECT_FALSE(std::exchange(open_, true)) << "only once";
    output_.put(greeting_);
  }
  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override {
    EXPECT_TRUE(open_ && next_name_.empty()) << "parses too early";
    if (!sleeps_as_.empty() && !end_sleep(batch)) return pauses_ ? Collected::pause : Collected::sleep;
    for (uint32_t ops = 0; ops < ops_max; ++ops) {
      const std::span<char> bytes = input.unparsed();
      const Bytes text(bytes.data(), bytes.size());
      const size_t end = text.find('\n');
      if (end == Bytes::npos) return Collected::need_more;
      input.consume(end + 1);
      const Bytes line = text.substr(0, end);
      if (!take(line, batch)) return Collected::close;
      if (line == "tls") return Collected::start_tls;
      if (!next_name_.empty() || !sleeps_as_.empty()) return Collected::wait;
    }
    return Collected::more;
  }
  void settled() override {
    if (!next_name_.empty()) name_ = std::exchange(next_name_, {});
    const std::lock_guard guard(sleepers_.mutex);
    for (const std::string &name : std::exchange(wakes_, {})) {
      const auto [first, last] = sleepers_.by_name.equal_range(name);
      for (auto one = first; one != last; ++one) one->second->wake();
      sleepers_.by_name.erase(first, last);
    }
    for (const std::string &letter : std::exchange(letters_, {})) {
      const size_t blank = letter.find(' ');
      const auto [first, last] = sleepers_.listeners.equal_range(letter.substr(0, blank));
      for (auto one = first; one != last; ++one) {
        one->second.told += letter.substr(blank + 1) + "\n";
        one->second.waker->call();
      }
    }
  }
  Delivered deliver() override {
    const std::lock_guard guard(sleepers_.mutex);
    for (auto &[name, listener] : sleepers_.listeners) {
      if (listener.waker != waker_) continue;
      if (listener.told.size() > told_bytes_max) return Delivered::close;
      if (output_.above_high_water()) return Delivered::later;
      output_.put(listener.told);
      listener.told.clear();
    }
    return Delivered::all;
  }
  bool listens() const override { return listens_; }

 private:
  void begin_sleep(Bytes line) {
    const size_t blank = line.find(' ');
    sleeps_as_ = line.substr(0, blank);
    int64_t ms = 0;
    std::from_chars(line.data() + blank + 1, line.data() + line.size(), ms);
    wake_ms_ = ms == 0 ? INT64_MAX : clock_ms() + ms;
    const std::lock_guard guard(sleepers_.mutex);
    sleepers_.by_name.emplace(sleeps_as_, waker_);
  }
  /// True: nobody had it to wake any more.
  bool stop_sleeping() {
    const std::lock_guard guard(sleepers_.mutex);
    return std::erase_if(sleepers_.by_name, [this](const auto &one) { return one.second == waker_; }) == 0;
  }
  /// False: it sleeps on.
  bool end_sleep(Batch &batch) {
    const bool late = clock_ms() >= wake_ms_ || (pauses_ && peer_.sends_no_more());
    {
      const std::lock_guard guard(sleepers_.mutex);
      const auto is_own = [this](const auto &one) { return one.second == waker_; };
      const bool waits = std::any_of(sleepers_.by_name.begin(), sleepers_.by_name.end(), is_own);
      if (waits && !late) return false;
    }
    const bool woken = stop_sleeping();
    sleeps_as_.clear();
    batch.add().reply = batch.arena().make<ToyReply>(output_, woken ? "woken" : "late");
    return true;
  }

  bool take(Bytes line, Batch &batch) {
    Op op;
    if (line == "bye") {
      op.reply = batch.arena().make<ToyReply>(output_, line);
      batch.add(op);
      return false;
    }
    if (line == "tls" || line == "who") {
      op.reply = batch.arena().make<ToyReply>(output_, line == "tls" ? Bytes("begin") : batch.arena().copy(name_));
      batch.add(op);
      return true;
    }
    if (line.starts_with("as ")) {
      next_name_ = line.substr(3);
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("wait ")) {
      next_name_ = line.substr(5);
      return ask(batch, ToyAsk::lone, "ok", 0, 0);
    }
    pauses_ = line.starts_with("pause ");
    if (pauses_ || line.starts_with("sleep ")) {
      begin_sleep(line.substr(6));
      return true;
    }
    if (line.starts_with("listen ")) {
      listens_ = true;
      const std::lock_guard guard(sleepers_.mutex);
      sleepers_.listeners.emplace(line.substr(7), ToySleepers::Listener{waker_});
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("tell ")) {
      letters_.emplace_back(line.substr(5));
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("wake ")) {
      wakes_.emplace_back(line.substr(5));
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("say ")) {
      op.reply = batch.arena().make<ToyReply>(output_, line.substr(4));
      batch.add(op);
      return true;
    }
    if (line.starts_with("unit ")) {
      batch.begin_unit(true);
      for (line.remove_prefix(5); !line.empty();) {
        const size_t size = std::min(line.find(';'), line.size());
        take(line.substr(0, size), batch);
        line.remove_prefix(std::min(size + 1, line.size()));
      }
      batch.end_unit();
      return true;
    }
    if (line == "write") {
      Op &write = batch.add();
      write.verb = Verb::edit;
      write.reply = batch.arena().make<ToyReply>(output_, "done");
      return true;
    }
    const Bytes word = line.substr(0, line.find(' '));
    if (word == "row") {
      EditRows edit;
      std::from_chars(line.data() + 4, line.data() + line.size(), edit.find.limit);
      Op &change = batch.add();
      change.verb = Verb::edit;
      change.edit = batch.arena().make<EditRows>(edit);
      change.slot = &slot_;
      change.reply = batch.arena().make<ToyReply>(output_, "changed");
      return true;
    }
    if (word == "table") return ask(batch, ToyAsk::table, "free", 0, 0);
    if (word == "lone") return ask(batch, ToyAsk::lone, "free", 0, 0);
    if (word == "hold") return ask(batch, ToyAsk::hold, "held", 0, 0);
    if (word == "search") return ask(batch, ToyAsk::search, "none", 0, 0);
    uint64_t count = 0;
    uint64_t size = 10;
    const char *const end = line.data() + line.size();
    const char *at = std::from_chars(line.data() + word.size() + 1, end, count).ptr;
    if (at != end) std::from_chars(at + 1, end, size);
    if (word == "break") return ask(batch, ToyAsk::broken, "never", count, 1000);
    return ask(batch, ToyAsk::rows, "end", count, size);
  }

  bool ask(Batch &batch, ToyAsk what, Bytes answer, uint64_t count, uint64_t size) {
    const std::span<Value> key = batch.arena().array<Value>(2);
    key[0] = Value::of_natural(static_cast<uint64_t>(what));
    key[1] = Value::of_natural(size);
    Op op;
    op.verb = Verb::find;
    op.find = batch.arena().make<Find>(Find{.key = key, .limit = count});
    op.slot = &slot_;
    op.reply = batch.arena().make<ToyReply>(output_, answer);
    batch.add(op);
    return true;
  }

  class TheTable final : public Binding {
   public:
    void unuse() noexcept override {}
    const TableSpec &spec() const noexcept override { return spec_; }

   private:
    const TableSpec spec_{"toy", "table", "PRIMARY"};
  };

  Output &output_;
  const Peer &peer_;
  const std::string greeting_;
  bool open_ = false;
  std::string name_;
  std::string next_name_;  // once the op that gives it is settled
  ToySleepers &sleepers_;
  static constexpr size_t told_bytes_max = size_t{4} << 20;
  Waker *waker_ = nullptr;
  bool listens_ = false;
  std::vector<std::string> letters_;
  std::string sleeps_as_;
  bool pauses_ = false;
  int64_t wake_ms_ = INT64_MAX;
  std::vector<std::string> wakes_;  // when all is settled
  TheTable binding_;
  TableSlot slot_;
};

class ToyProtocol final : public Protocol {
 public:
  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override {
    return std::make_unique<ToySession>(output, peer, greeting, sleepers);
  }
  TlsBegins tls_begins() const override { return tls; }
  void refuse(Output &output, Failure why) override {
    output.put(failure_name(why));
    output.put('\n');
  }

  std::string greeting;  ///< a session's first bytes
  TlsBegins tls = TlsBegins::with_the_first_byte;
  ToySleepers sleepers;
};

class ToyEngine final : public Engine {
 public:
  std::atomic<bool> ready{true};          ///< threads may attach
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
  std::atomic<bool> leaves_rows{false};   ///< runs with writes count rows that they had to leave

  std::atomic<bool> commits_wait{false};  ///< Engine::commits_may_wait()

  bool up() const override { return ready; }
  bool commits_may_wait() const override { return commits_wait; }
  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override;

  int tries() const { return rows_tried + tables_tried_slow; }

  /// The server goes down.
  void stop() {
    stopping = true;
    const std::lock_guard guard(mutex_);
    for (const int fd : wake_fds_) eventfd_write_one(fd);
  }

 private:
  friend class ToyExecutor;
  static void eventfd_write_one(int fd) {
    const uint64_t one = 1;
    if (::write(fd, &one, sizeof one) < 0) return;
  }
  std::mutex mutex_;
  std::vector<int> wake_fds_;
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
  void describe(Bytes) noexcept override {}

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
  bool holding_ = false;
};

inline std::unique_ptr<Executor> ToyEngine::attach(const ThreadIdentity &who, const std::atomic<bool> &stop) {
  while (!ready && !stop && !stopping) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard guard(mutex_);
  if (stop || stopping) return nullptr;
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

/// A door on a unix socket (and on a TCP port if one is given) over the toys.
class DoorTest : public ::testing::Test {
 protected:
  DoorTest() {
    options_.name = "toy";
    options_.host = "127.0.0.1";
    static std::atomic<int> number{0};
    options_.unix_path = "/tmp/postern-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".sock";
    options_.threads = 1;
    options_.idle_timeout_ms = 0;
  }
  ~DoorTest() override { door_.reset(); }

  void open(Access access = Access::read) {
    door_ = std::make_unique<Door>(options_, protocol_, engine_, access);
    std::string error;
    ASSERT_TRUE(door_->start(error)) << error;
  }
  Client connect(int receive_buffer = 0) { return Client(options_.unix_path, receive_buffer); }
  uint64_t count(Counter counter) const {
    Counters sum;
    door_->add_counters(sum);
    return sum.get(counter);
  }
  uint64_t count(Failure failure) const {
    Counters sum;
    door_->add_counters(sum);
    return sum.get(failure);
  }
  /// Stops the door and says how long that took.
  int64_t stop_ms() {
    const int64_t begin = clock_ms();
    door_->stop();
    return clock_ms() - begin;
  }

  /// Generous for a loaded machine and sanitizers; a stop that waits for a client or a scan takes for ever.
  static constexpr int64_t soon_ms = 3'000;

  Options options_;
  ToyProtocol protocol_;
  ToyEngine engine_;
  std::unique_ptr<Door> door_;
};

}  // namespace postern::door
