// kill_watch.h: KillWatch, which wakes doors' threads when they are killed or the server goes down, and interrupts
// writes that take too long.
//
// MySQL notifies only its connection handler of KILL and of waits for rows, so a thread polls: ten times a second, and
// two hundred times while there are writes. Owned by the engine; the thread runs from the first add() on, until this is
// destroyed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

class THD;

namespace postern::mysqld {

/// The time limit of a thread's running write. Shared by that thread and the watching one.
class WriteLimit {
 public:
  /// For the writing thread: begins a write that may take until then, by now_us(); 0: ends it; no interruption follows
  /// after the return.
  void set(int64_t until_us);
  /// Whether a write was interrupted since the last call.
  bool take_expired() { return expired_.load(std::memory_order_relaxed) && expired_.exchange(false); }
  bool expired() const { return expired_.load(std::memory_order_relaxed); }

  /// For the watching thread: interrupts a write that has used up its time, or one of a stopping thread.
  void look(THD *thd, int64_t now_us, bool stopping);

  static int64_t now_us();

 private:
  std::mutex mutex_;  // taken before LOCK_thd_data
  std::atomic<int64_t> until_us_{0};
  std::atomic<bool> expired_{false};
};

class KillWatch {
 public:
  /// One watched thread; a member of its ServerThread.
  struct Watched {
    THD *thd = nullptr;
    int wake_fd = -1;                         ///< an eventfd
    WriteLimit *limit = nullptr;              ///< nullptr: it writes nothing
    const std::atomic<bool> *stop = nullptr;  ///< whether the thread has to end
    Watched *next = nullptr;
  };

  KillWatch() = default;
  /// Stops watching all threads.
  ~KillWatch();
  KillWatch(const KillWatch &) = delete;
  KillWatch &operator=(const KillWatch &) = delete;

  /// Any thread. Throws std::system_error or std::bad_alloc if the watching thread cannot be started.
  void add(Watched &watched);
  /// Any thread. The THD may be deleted after this.
  void remove(Watched &watched) noexcept;
  /// Any thread, before a batch of writes: polls often for a while.
  void expect_writes();

 private:
  void run();

  std::mutex mutex_;  // before those of the limits
  std::condition_variable changed_;
  Watched *first_ = nullptr;
  bool end_ = false;
  std::atomic<bool> sleeps_long_{false};
  std::atomic<int64_t> last_write_us_{0};
  std::thread thread_;
};

}  // namespace postern::mysqld
