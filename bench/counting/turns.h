// turns.h: Turns, a door's worker that repeats one turn for measurement: the executor of one turn sends the requests of
// the next, so that no second thread, timer or server takes part.
//
// Everything happens on the worker's thread but construction and run().
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/executor.h"
#include "contract/session.h"
#include "door/lanes/loop_watch.h"
#include "door/lanes/slow_lane.h"
#include "door/lanes/statement_pool.h"
#include "door/worker.h"
#include "net/fd.h"
#include "net/any_channel.h"

namespace postern::bench {

/// Measures the worker's thread while it is on.
class Meter {
 public:
  virtual void on() = 0;
  virtual void off() = 0;

 protected:
  ~Meter() = default;
};

class Turns final : public Engine {
 public:
  /// Each of `connections` first sends `opening`, which opens one table, then, for every turn, `requests`, which are
  /// `count` ops.
  struct Plan {
    Access access = Access::read;
    size_t connections = 1;
    std::string opening{};
    std::string requests{};
    size_t count = 1;
    /// The row that every find returns.
    std::vector<Value> row{Value::of("Yukari Takeba"), Value::of("yukari.takeba@dena.jp"),
                           Value::of("2010-02-03 11:22:33")};
  };

  Turns(Protocol &protocol, Plan plan, Meter &meter)
      : plan_(std::move(plan)),
        meter_(meter),
        slow_lane_(options_, *this, plan_.access),
        reception_(options_, protocol, *this, *roster_, no_workers_, nobody_),
        worker_({.options = options_,
                 .protocol = protocol,
                 .engine = *this,
                 .slow_lane = slow_lane_,
                 .write_lane = nullptr,
                 .statements = statements_,
                 .reception = reception_,
                 .watch = watch_,
                 .access = plan_.access,
                 .server_stopping = [](void *) {},
                 .worker_ready = [](void *) {},
                 .door = this},
                1) {}

  /// After some turns with the meter off, runs `turns` turns with it on, without the clients' and the executor's own
  /// work. Returns false if a turn had a wrong result. To be called once.
  bool run(uint32_t turns) {
    last_turn_ = warm_up_turns + turns;
    for (size_t i = 0; i < plan_.connections; ++i) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return false;
      clients_.emplace_back(ends[0]);
      worker_.give(worker_.make_connection(net::AnyChannel(net::Fd(ends[1])), {}, true, *roster_));
      send(clients_.back(), plan_.opening);
    }
    if (!worker_.start()) return false;
    done_.wait(false);
    worker_.stop();
    worker_.join();
    return right_;
  }

  bool up() const override { return true; }
  std::unique_ptr<Executor> attach(const ThreadIdentity &, const std::atomic<bool> &) override {
    return std::make_unique<Answers>(*this);
  }

 private:
  static constexpr uint32_t warm_up_turns = 10;

  /// A minimal engine: every find has one row, every write changes one.
  class Answers final : public Executor, private Binding {
   public:
    explicit Answers(Turns &turns) : turns_(turns) {}

    Settlement run(const Run &run) override {
      turns_.next(run.ops);
      for (Op &op : run.ops) {
        answer(op);
        if (run.watcher != nullptr) run.watcher->op_done(op);
      }
      return {};
    }
    void idle() noexcept override {}
    bool server_stopping() noexcept override { return false; }
    int64_t row_wait_ms() noexcept override { return 0; }
    void describe(Bytes) noexcept override {}

   private:
    void answer(Op &op) {
      op.progress = Progress::done;
      Outcome outcome;
      outcome.failure = op.failure;
      if (op.verb == Verb::open) op.slot->fill(this);
      if (op.verb == Verb::find) {
        op.reply->row(turns_.plan_.row);
        outcome.columns = static_cast<uint32_t>(turns_.plan_.row.size());
        outcome.rows = 1;
      }
      if (writes(op.verb)) outcome.changed = 1;
      op.reply->done(outcome);
    }
    void unuse() noexcept override {}
    const TableSpec &spec() const noexcept override { return spec_; }

    Turns &turns_;
    static constexpr Bytes columns[] = {"user_name", "user_email", "created"};
    const TableSpec spec_{"test", "user", "PRIMARY", columns};
  };

  /// Called within a turn, when its requests are parsed and not answered.
  void next(std::span<Op> ops) {
    if (turn_ > warm_up_turns && turn_ <= last_turn_) meter_.off();
    if (turn_ > 0) right_ = right_ && ops.size() == plan_.connections * plan_.count;
    for (const Op &op : ops) opened_ += op.verb == Verb::open;
    if (opened_ < plan_.connections) return;
    ++turn_;
    if (turn_ > last_turn_ || !right_) {
      done_ = true;
      done_.notify_one();
      return;
    }
    for (const net::Fd &client : clients_) {
      char replies[4096];
      const ssize_t received = ::recv(client.get(), replies, sizeof replies, 0);
      right_ = right_ && (received > 0 || turn_ == 1);
      send(client, plan_.requests);
    }
    if (turn_ > warm_up_turns) meter_.on();
  }

  void send(const net::Fd &client, Bytes bytes) {
    const ssize_t sent = ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    right_ = right_ && sent == static_cast<ssize_t>(bytes.size());
  }

  const Plan plan_;
  Meter &meter_;
  const door::Options options_{};
  std::vector<net::Fd> clients_;
  uint32_t turn_ = 0;
  uint32_t last_turn_ = 0;
  size_t opened_ = 0;
  bool right_ = true;
  std::atomic<bool> done_{false};
  door::SlowLane slow_lane_;
  const door::Roster::Owner roster_ = door::Roster::make();
  const door::Reception::Workers no_workers_;
  const net::WakeFd nobody_;
  door::Reception reception_;  // without clients
  door::StatementPool statements_{"turns"};
  door::LoopWatch watch_{"turns watch"};
  door::Worker worker_;
};

}  // namespace postern::bench
