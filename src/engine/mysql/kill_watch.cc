#include "engine/mysql/server.h"

#include "engine/mysql/kill_watch.h"

#include <sys/eventfd.h>

#include <chrono>

namespace postern::mysqld {
namespace {

constexpr std::chrono::milliseconds between_looks{100};

}  // namespace

KillWatch::~KillWatch() {
  {
    const std::lock_guard guard(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void KillWatch::add(Watched &watched) {
  const std::lock_guard guard(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  watched.next = first_;
  first_ = &watched;
}

void KillWatch::remove(Watched &watched) noexcept {
  const std::lock_guard guard(mutex_);
  Watched **at = &first_;
  while (*at != nullptr && *at != &watched) at = &(*at)->next;
  if (*at != nullptr) *at = watched.next;
}

void KillWatch::run() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, between_looks, [this] { return end_; })) {
    const bool stopping = connection_events_loop_aborted();
    for (const Watched *one = first_; one != nullptr; one = one->next)
      if (stopping || one->thd->killed) eventfd_write(one->wake_fd, 1);
  }
}

}  // namespace postern::mysqld
