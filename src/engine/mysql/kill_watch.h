// kill_watch.h: KillWatch, which wakes threads of ours when somebody kills them or the server goes down.
//
// MySQL notifies only the one handler of all its connections of a KILL, so a thread looks, ten times a second. Owned by
// the engine; the thread runs from the first add() on, until this is destroyed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

class THD;

namespace postern::mysqld {

class KillWatch {
 public:
  /// One thread that is watched; a member of what stands for it.
  struct Watched {
    THD *thd = nullptr;
    int wake_fd = -1;  ///< an eventfd
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

 private:
  void run();

  std::mutex mutex_;  // a leaf
  std::condition_variable ended_;
  Watched *first_ = nullptr;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace postern::mysqld
