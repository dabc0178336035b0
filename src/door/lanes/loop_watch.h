// loop_watch.h: LoopWatch, a thread of a door that notices statements on workers' threads that last, and moves the
// worker's loop as soon as another client needs it.
//
// It sleeps while no statement is served, and otherwise checks every limits::lasting_look_us. A statement that it meets
// twice lasts: from then on it watches the worker's poller. A statement on a worker without other clients is first
// checked much later: most have ended by then, and one timer has served many of them. While such statements follow each
// other the timer is put off, and where clients send them rarely it is stopped when the statement has ended: a timer
// that goes off for nothing costs as much as a short statement.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "door/connections/thread.h"
#include "door/lanes/crew_limits.h"
#include "net/fd.h"
#include "net/poller.h"

namespace postern::door {

class Crew;

class LoopWatch {
 public:
  explicit LoopWatch(std::string name) : name_(std::move(name)) {}
  ~LoopWatch() { stop(); }
  LoopWatch(const LoopWatch &) = delete;
  LoopWatch &operator=(const LoopWatch &) = delete;

  /// Called before the first worker starts: watches `crew` of a worker with the poller `poller_fd`. Both outlive the
  /// watch's thread. Throws std::bad_alloc.
  void look_after(Crew &crew, int poller_fd);
  /// Whether it runs; otherwise no statement may be served on a worker's thread. Starts the thread at the first call.
  /// Any thread that has a loop.
  [[nodiscard]] bool ready() {
    return watches() || (state_.load(std::memory_order_acquire) == State::asleep && start());
  }
  /// Called when all crews have been joined.
  void stop();

  enum class Look : uint8_t {
    none,
    late,  ///< after limits::lone_look_us
    soon,  ///< after limits::lasting_look_us
  };
  /// Called when a client comes that may need the loop. Any thread.
  void arm(Look look) {
    Look armed = armed_.load(std::memory_order_seq_cst);
    do {
      if (armed >= look) return;
    } while (!armed_.compare_exchange_weak(armed, look, std::memory_order_seq_cst));
    set_timer(look);
    if (look == Look::late) look_no_later();
  }
  /// `crew` has begun a statement at `now_us`.
  void arm(Look look, const Crew &crew, int64_t now_us) {
    if (look == Look::late && now_us - late_us_.load(std::memory_order_relaxed) >= limits::lone_look_us / 2)
      put_off(crew, now_us);
    arm(look);
  }
  /// A worker sleeps from `now_us` on, as it did at `before_us` last: all its statements are served. Stops the timer
  /// where that would go off before the next one begins.
  void note_sleep(int64_t before_us, int64_t now_us) {
    const Look armed = armed_.load(std::memory_order_seq_cst);
    if (armed == Look::none) return;
    const int64_t look_us = armed == Look::soon ? limits::lasting_look_us : limits::lone_look_us;
    if (now_us - before_us >= look_us / 2) disarm(armed);
  }

 private:
  struct Watched {
    Crew *crew;
    int poller_fd;
    uint64_t met = 0;      // the statement that the last check met
    bool lasts = false;    // it was met twice
    int64_t until_us = 0;  // when the loop moves in any case
  };

  enum class State : uint8_t { asleep, watches, failed };

  bool watches() const { return state_.load(std::memory_order_acquire) == State::watches; }
  bool start();
  /// After the timer of a late look was set: somebody may have asked for a look that is sooner, and set it before.
  void look_no_later() const {
    if (armed_.load(std::memory_order_seq_cst) == Look::soon) set_timer(Look::soon);
  }
  void put_off(const Crew &crew, int64_t now_us);
  bool any_serves() const;
  void disarm(Look armed);
  void set_timer(Look look) const;
  void work();
  bool look();
  int patience_ms() const;
  void move_lasting(size_t first);
  static bool still_lasts(const Watched &one);

  const std::string name_;
  std::mutex mutex_;  // a leaf; taken to start the thread
  std::atomic<State> state_{State::asleep};
  net::Fd timer_;
  net::WakeFd wake_;
  std::atomic<Look> armed_{Look::none};
  std::atomic<int64_t> late_us_{0};  // when the timer of a late look was set last
  std::atomic<bool> stop_{false};
  std::vector<Watched> watched_;  // used by the thread once it is started; others read which crews it has
  std::vector<pollfd> polled_;    // used by the thread as well; has room for all
  Thread thread_;
};

}  // namespace postern::door
