// conductor.h: Conductor, the base of commands that run other commands one by one, in one transaction, and read each
// reply before they continue.
//
// A derived class implements run(), a coroutine that awaits carry_out(). A failed command alone is undone. Handlers run
// on the script's thread; meanwhile no other thread touches their session. The answer of run() is held until the
// transaction is committed. run() may be called again, and must begin from scratch then.
//
//   Task<> run() override {
//     const Bytes reply = co_await carry_out(*get, arguments, Resp::two);
//     if (reply == "$-1\r\n") co_await carry_out(*set, others, Resp::two);
//     answer().put(reply);
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/passage.h"
#include "contract/script.h"
#include "redis/call.h"
#include "redis/tables.h"
#include "redis/work/task.h"

namespace postern::redis {

class Conductor : public Kept, public Script, public Reply {
 public:
  explicit Conductor(Call &call);
  ~Conductor() override = default;

  Step begin() final;
  Step next() final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &outcome) final;
  void restart() final;

  RedisSession &session() { return session_; }

  // For run(), and coroutines that it awaits.

  /// Waits until a step is done.
  auto step(Step wanted) {
    struct Waiter {
      Conductor &conductor;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiting) const noexcept { conductor.waiting_ = waiting; }
      void await_resume() const noexcept {}
    };
    step_ = wanted;
    return Waiter{*this};
  }
  /// Whether the script exceeds a turn's bounds, so that it has to stop there.
  auto leave_turn() { return step({.what = Step::What::alone}); }

 protected:
  virtual Task<> run() = 0;
  /// Drops the state of a run that is over or begins anew.
  virtual void forget() {}

  /// The answer's output; nothing is sent before the commit.
  Output &answer() { return room_->answer; }
  /// Undoes the transaction at the end; the answer stays.
  void undo_all() { undone_ = true; }
  /// Makes commands share one read view and lock nothing; they must not write.
  void set_reads_only(bool reads_only) { reads_only_ = reads_only; }
  bool is_reading_only() const { return reads_only_; }
  Resp resp() const { return resp_; }

  /// Runs a command with a valid number of arguments and returns its reply, which lives until the next command, as
  /// `arguments` must.
  Task<Bytes> carry_out(const Command &command, std::span<const Bytes> arguments, Resp resp);

 private:
  Step go_on();
  void begin_command(const Command &command, std::span<const Bytes> arguments, Resp resp);
  Task<> try_plain(std::span<Op> ops);
  Task<> run_nested(Op &op);
  void retain_messages(const Command &command);
  void take_back_messages();
  void end_showing();
  void take_back_shown();

  RedisSession &session_;
  Output &output_;
  Passage passage_;
  const Resp resp_;
  const int64_t now_ms_;
  const bool in_unit_;
  bool reads_only_ = false;
  bool undone_ = false;

  /// The memory of a run. The thread that runs it frees it at its end: memory freed by another thread costs both
  /// threads.
  struct Room {
    Room() {
      answer.hold_until_commit();
      reply.hold_until_commit();
    }

    Output answer;
    Output reply;                             // the command's
    Batch batch;                              // its ops
    std::vector<std::unique_ptr<Kept>> kept;  // for them
  };
  std::optional<Room> room_;
  // Messages that commands have published; sent after the commit.
  std::vector<std::unique_ptr<Kept>> messages_;
  std::vector<Reply *> publishers_;
  // Keyspace notifications of its commands.
  uint64_t notices_from_ = 0;
  uint64_t notices_to_ = 0;
  // Its commands for MONITOR; once they were shown, no later run is shown.
  uint64_t shown_from_ = 0;
  uint64_t shown_to_ = 0;
  bool was_shown_ = false;
  Task<> task_;
  std::coroutine_handle<> waiting_{};
  Step step_{};
};

}  // namespace postern::redis
