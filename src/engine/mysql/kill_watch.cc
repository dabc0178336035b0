#include "engine/mysql/server.h"

#include "engine/mysql/kill_watch.h"

#include <sys/eventfd.h>

#include <chrono>

namespace postern::mysqld {
namespace {

constexpr std::chrono::milliseconds between_looks{100};
constexpr std::chrono::milliseconds between_looks_at_writes{5};
/// From the last batch of writes on.
constexpr int64_t writes_expected_us = 1'000'000;

}  // namespace

int64_t WriteLimit::now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void WriteLimit::set(int64_t until_us) {
  const std::lock_guard guard(mutex_);
  until_us_.store(until_us, std::memory_order_relaxed);
}

void WriteLimit::look(THD *thd, int64_t now_us, bool stopping) {
  int64_t until = until_us_.load(std::memory_order_relaxed);
  if (until == 0 || (now_us < until && !stopping)) return;
  const std::lock_guard guard(mutex_);
  until = until_us_.load(std::memory_order_relaxed);
  if (until == 0 || (now_us < until && !stopping) || expired_.load(std::memory_order_relaxed)) return;
  MUTEX_LOCK(lock, &thd->LOCK_thd_data);
  if (thd->killed != THD::NOT_KILLED) return;
  expired_.store(true, std::memory_order_relaxed);
  thd->awake(THD::KILL_TIMEOUT);
}

KillWatch::~KillWatch() {
  {
    const std::lock_guard guard(mutex_);
    end_ = true;
  }
  changed_.notify_all();
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

void KillWatch::expect_writes() {
  last_write_us_.store(WriteLimit::now_us());
  if (!sleeps_long_.load()) return;
  const std::lock_guard guard(mutex_);
  changed_.notify_all();
}

void KillWatch::run() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    const int64_t now = WriteLimit::now_us();
    const bool stopping = connection_events_loop_aborted();
    for (const Watched *one = first_; one != nullptr; one = one->next) {
      if (one->limit != nullptr) one->limit->look(one->thd, now, stopping || (one->stop != nullptr && *one->stop));
      const THD::killed_state killed = one->thd->killed;
      if (stopping || (killed != THD::NOT_KILLED && killed != THD::KILL_TIMEOUT)) eventfd_write(one->wake_fd, 1);
    }
    sleeps_long_.store(true);  // before the look at the time of the last write, which expect_writes() sets first
    const bool often = now - last_write_us_.load() < writes_expected_us;
    if (often) sleeps_long_.store(false);
    changed_.wait_for(lock, often ? between_looks_at_writes : between_looks);
    sleeps_long_.store(false);
  }
}

}  // namespace postern::mysqld
