// loop_watch.h: LoopWatch, a thread of a door that sees when a statement that a worker serves in place lasts, and has
// the worker's loop moved as soon as anybody needs it.
//
// It sleeps while no statement is served. Where statements are, it looks every limits::lasting_look_us; one that it
// meets twice lasts, and from then on it waits with the worker's poller for whatever comes. A statement beside which
// nobody needs the loop is first looked at much later: most have ended then, and one timer has served many of them.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "door/connections/thread.h"
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

  /// Before the first worker starts: `crew` of a worker with the poller `poller_fd`. Both outlive the watch's
  /// thread. Throws std::bad_alloc.
  void look_after(Crew &crew, int poller_fd);
  /// Whether it watches, without which no statement may be served in place: it is started when that is first asked. Any
  /// thread that has a loop.
  [[nodiscard]] bool ready() {
    return watches() || (state_.load(std::memory_order_acquire) == State::asleep && start());
  }
  /// When all crews have been joined.
  void stop();

  enum class Look : uint8_t {
    none,
    late,  ///< after limits::lone_look_us
    soon,  ///< after limits::lasting_look_us
  };
  /// A statement has begun, or a client has come that may need the loop. Any thread.
  void arm(Look look) {
    Look armed = armed_.load(std::memory_order_seq_cst);
    do {
      if (armed >= look) return;
    } while (!armed_.compare_exchange_weak(armed, look, std::memory_order_seq_cst));
    set_timer(look);
  }

 private:
  struct Watched {
    Crew *crew;
    int poller_fd;
    uint64_t met = 0;      // the statement that the last look met
    bool lasts = false;    // it was met twice
    int64_t until_us = 0;  // it may last so long at most
  };

  enum class State : uint8_t { asleep, watches, failed };

  bool watches() const { return state_.load(std::memory_order_acquire) == State::watches; }
  bool start();
  void set_timer(Look look) const;
  void work();
  bool look();
  int patience_ms() const;
  void move_lasting(size_t first);
  static bool still_lasts(const Watched &one);

  const std::string name_;
  std::mutex mutex_;  // a leaf; of its start
  std::atomic<State> state_{State::asleep};
  net::Fd timer_;
  net::WakeFd wake_;
  std::atomic<Look> armed_{Look::none};
  std::atomic<bool> stop_{false};
  std::vector<Watched> watched_;  // the thread's, once it has been started
  std::vector<pollfd> polled_;    // as well; has room for all
  Thread thread_;
};

}  // namespace postern::door
