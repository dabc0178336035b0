// kill_watch.h: KillWatch, which wakes threads of ours when somebody kills them or the server goes down, and interrupts
// writes that take longer than they may.
//
// MySQL notifies only the one handler of all its connections of a KILL, and of waits for rows, so a thread looks: ten
// times a second, and two hundred times while there are writes. Owned by the engine; the thread runs from the first
// add() on, until this is destroyed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

class THD;

namespace postern::mysqld {

/// How long the running write of a thread may take. Shared by that thread and the one that looks.
class WriteLimit {
 public:
  /// The writing thread: a write begins that may take until then, by now_us(); 0: it is over, and is not interrupted
  /// any more when this returns.
  void set(int64_t until_us);
  /// Whether a write was interrupted since the last call.
  bool take_expired() { return expired_.load(std::memory_order_relaxed) && expired_.exchange(false); }
  bool expired() const { return expired_.load(std::memory_order_relaxed); }

  /// The watching thread: interrupts a write that has used up its time, or that nobody will hear of.
  void look(THD *thd, int64_t now_us, bool stopping);

  static int64_t now_us();

 private:
  std::mutex mutex_;  // taken before LOCK_thd_data
  std::atomic<int64_t> until_us_{0};
  std::atomic<bool> expired_{false};
};

class KillWatch {
 public:
  /// One thread that is watched; a member of what stands for it.
  struct Watched {
    THD *thd = nullptr;
    int wake_fd = -1;                         ///< an eventfd
    WriteLimit *limit = nullptr;              ///< nullptr: it writes nothing
    const std::atomic<bool> *stop = nullptr;  ///< the thread has to end
    Watched *next = nullptr;
  };

  KillWatch() = default;
  /// Nobody is watched any more.
  ~KillWatch();
  KillWatch(const KillWatch &) = delete;
  KillWatch &operator=(const KillWatch &) = delete;

  /// Any thread. Throws std::system_error or std::bad_alloc where there is no thread to be had for the first.
  void add(Watched &watched);
  /// Any thread. From here on the THD may go.
  void remove(Watched &watched) noexcept;
  /// Any thread, before a batch of writes: looks are frequent for a while.
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
