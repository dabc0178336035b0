// siblings.h: Siblings, all workers of the process: a worker that has run for long steps back for one that has events
// and does not run.
//
// The kernel switches threads only once in several milliseconds. A worker with clients that answer at once never
// sleeps, so a sibling on the same processor waits that long, however often it is woken.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace postern::door {

class Sibling;

/// Any thread may call it.
class Siblings {
 public:
  /// A worker steps back for at most so many microseconds.
  explicit Siblings(int64_t stepped_back_us_max);
  Siblings(const Siblings &) = delete;
  Siblings &operator=(const Siblings &) = delete;

  /// The workers of this process. Lives forever.
  static Siblings &of_process();

 private:
  friend class Sibling;

  void add(Sibling &sibling);
  void remove(Sibling &sibling);
  bool may_be_ready(const Sibling &one, const Sibling &self, int64_t now_us) const;
  bool any_may_be_ready(const Sibling &self, int64_t now_us) const;
  Sibling *find_ready(const Sibling &self, int64_t now_us);

  const int64_t stepped_back_us_max_;
  std::mutex mutex_;  // guards the members below; held while a sibling's poller is polled
  std::vector<Sibling *> all_;
  size_t next_ = 0;  // the next to be checked
};

/// A worker among the others. Its thread alone calls its functions, three for each turn. Once in limits::step_back_us
/// it checks some of the others, and polls the pollers of a few; only one worker at a time does so.
class Sibling {
 public:
  /// `poller_fd` is that of its epoll instance; both outlive it. Throws std::bad_alloc.
  Sibling(Siblings &all, int poller_fd);
  ~Sibling();
  Sibling(const Sibling &) = delete;
  Sibling &operator=(const Sibling &) = delete;

  /// Ends its turn. Called before it wakes another thread, which may run in its place at once.
  void leave_turn() { state_.store(State::away, std::memory_order_release); }
  /// Its turn was over at `now_us` (monotonic clock), and it waits for events next; `goes_on`: it does not even wait.
  /// If its last check was limits::step_back_us ago, and a sibling has events and does not run, that sibling has its
  /// turn first, for at most limits::stepped_back_us_max. A worker that is about to sleep need not: the kernel lets the
  /// sibling run then.
  void end_turn(int64_t now_us, bool goes_on) {
    end_wait_of_others();
    if (now_us - looked_us_ >= step_back_us) step_back(now_us, goes_on);
  }
  /// Events have come at `now_us`.
  void begin_turn(int64_t now_us) {
    state_.store(State::runs, std::memory_order_release);
    ran_us_.store(now_us, std::memory_order_relaxed);
  }
  /// It leaves its turn for other work for a while.
  void pause_turn() noexcept { end_wait_of_others(); }

 private:
  friend class Siblings;

  /// Shared, because it may be posted after its sibling has gone.
  struct Semaphore {
    Semaphore() { sem_init(&semaphore, 0, 0); }
    ~Semaphore() { sem_destroy(&semaphore); }
    Semaphore(const Semaphore &) = delete;
    Semaphore &operator=(const Semaphore &) = delete;
    sem_t semaphore{};
  };

  enum class State : uint8_t {
    runs,    // or has stepped back, or waits for anything but events
    away,    // waits for events, or the kernel has not let it run since they came
    called,  // has stepped back, and the kernel has not let it run since it was called
  };

  static const int64_t step_back_us;

  void end_wait_of_others() noexcept {
    if (waits_for_me_.load(std::memory_order_seq_cst) != nullptr) wake_waiter();
  }
  void wake_waiter() noexcept;
  void step_back(int64_t now_us, bool goes_on);
  void await_call();
  bool has_events() const;

  Siblings &all_;
  const int poller_fd_;
  std::atomic<State> state_{State::runs};
  std::atomic<int64_t> ran_us_{0};
  std::atomic<Sibling *> waits_for_me_{nullptr};  // written with the siblings' mutex held
  std::shared_ptr<Semaphore> called_;
  int64_t looked_us_ = 0;
};

}  // namespace postern::door
