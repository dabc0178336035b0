// lone_connection.h: LoneConnection, one connection without a door: it takes a session through turns as a worker and a
// scan thread do, on the calling thread and without a socket.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "contract/batch.h"
#include "contract/executor.h"
#include "contract/session.h"

namespace postern::test {

class LoneConnection {
 public:
  LoneConnection(Protocol &protocol, Executor &executor) : executor_(executor), valve_(*this) {
    session_ = protocol.open_session(output_, peer_);
    session_->take_waker(waker_);
    session_->open();
  }
  LoneConnection(const LoneConnection &) = delete;
  LoneConnection &operator=(const LoneConnection &) = delete;

  /// The answers to these bytes, all received at once.
  std::string send(std::string_view bytes) {
    receive(bytes);
    turns();
    deliver();
    return take_replies();
  }
  std::string send_byte_by_byte(std::string_view bytes) {
    for (const char &byte : bytes) {
      receive({&byte, 1});
      turns();
    }
    return take_replies();
  }

  /// The answers after the session was woken, and messages from others to its client; nothing if it still sleeps.
  std::string look_again() { return send({}); }
  /// The answers after it has slept until wake_ms().
  std::string sleep_on() {
    waker_.wake();
    return look_again();
  }
  bool asleep() const { return asleep_; }
  void end_sending() { peer_.ended = true; }

  /// The session closed the connection, or a reply could not be finished.
  bool closed() const { return closed_; }
  /// The number of finds that went through the slow lane.
  uint64_t slow_finds() const { return slow_finds_; }
  Session &session() { return *session_; }
  Batch &batch() { return batch_; }
  Output &output() { return output_; }

  /// Called between two tries of unfinished ops: makes a busy table free in the end.
  void (*when_busy)(void *) = nullptr;
  void *when_busy_argument = nullptr;
  uint32_t ops_max = limits::ops_per_connection_max;
  /// In the slow lane the valve asks for a pause at every such number of calls.
  uint32_t pause_every = 3;

 private:
  class Flag final : public Waker {
   public:
    void wake() noexcept override { woken = true; }
    void call() noexcept override { called = true; }
    bool woken = false;
    bool called = false;
  };

  class Ending final : public Peer {
   public:
    bool sends_no_more() const override { return ended; }
    bool ended = false;
  };

  /// Sends everything, like a client that reads at once.
  class OpenValve final : public Valve {
   public:
    explicit OpenValve(LoneConnection &connection) : connection_(connection) {}
    Flow flow(Output &) override {
      connection_.flush();
      return ++calls_ % connection_.pause_every == 0 ? Flow::pause : Flow::more;
    }

   private:
    LoneConnection &connection_;
    uint32_t calls_ = 0;
  };

  void receive(std::string_view bytes) {
    if (closed_) return;
    const std::span<char> room = input_.room(bytes.size());
    if (room.size() < bytes.size()) {
      closed_ = true;
      return;
    }
    if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
    input_.received(bytes.size());
  }

  void turns() {
    while (!closed_) {
      if (asleep_ && !std::exchange(waker_.woken, false)) return;
      asleep_ = false;
      batch_.begin(1);
      const Collected collected = session_->collect(input_, batch_, ops_max);
      execute();
      flush();
      session_->settled();
      batch_.clear();
      input_.settle();
      const bool closes = collected == Collected::close || collected == Collected::start_tls;  // it has no TLS
      if (output_.broken() || closes) closed_ = true;
      if (collected == Collected::need_more) return;
      asleep_ = collected == Collected::sleep || collected == Collected::pause;
    }
  }

  void deliver() {
    while (!closed_ && std::exchange(waker_.called, false)) {
      const Delivered delivered = session_->deliver();
      flush();
      waker_.called = delivered == Delivered::later;
      closed_ = delivered == Delivered::close;
    }
  }

  void execute() {
    std::span<Op> ops = batch_.ops();
    while (!ops.empty()) {
      const Output::Mark mark = output_.mark();
      if (!executor_.run({.ops = ops}).lasted()) {
        take_back(ops, mark);
        continue;
      }
      const auto stuck =
          std::find_if(ops.begin(), ops.end(), [](const Op &op) { return op.progress != Progress::done; });
      ops = ops.subspan(static_cast<size_t>(stuck - ops.begin()));
      if (ops.empty()) return;
      if (ops.front().progress == Progress::paused || ops.front().progress == Progress::needs_own_run) {
        go_slow(ops.front());
        ops = ops.subspan(1);
      } else if (when_busy != nullptr) {
        when_busy(when_busy_argument);
      }
    }
  }

  void go_slow(Op &op) {
    ++slow_finds_;
    std::unique_ptr<Position> position;
    op.reply->restart();
    flush();
    op.position = &position;
    const bool held = writes(op.verb);
    if (held) output_.hold_until_commit();
    else output_.stream_through(valve_);
    do {
      const Output::Mark mark = output_.mark();
      const bool lasted = executor_.run({.ops = {&op, 1}, .lane = Lane::alone}).lasted();
      if (!lasted) op.progress = Progress::waiting;
      if (held && op.progress != Progress::done) take_back({&op, 1}, mark);
    } while (op.progress != Progress::done && !output_.broken());
    output_.bound_to_turn();
    op.position = nullptr;
  }

  void take_back(std::span<Op> ops, Output::Mark mark) {
    output_.rewind(mark);
    for (const Op &op : ops) op.reply->restart();
  }

  void flush() {
    output_.release();
    const Bytes bytes = output_.sendable();
    replies_ += bytes;
    if (!bytes.empty()) output_.sent(bytes.size());
  }

  std::string take_replies() {
    std::string replies;
    replies.swap(replies_);
    return replies;
  }

  Executor &executor_;
  OpenValve valve_;
  Ending peer_;
  Flag waker_;
  Input input_;
  Output output_;
  Batch batch_;
  std::unique_ptr<Session> session_;
  std::string replies_;
  uint64_t slow_finds_ = 0;
  bool closed_ = false;
  bool asleep_ = false;
};

}  // namespace postern::test
