#include "sweeper.h"

#include <memory>
#include <new>
#include <utility>

#include "base/pool.h"
#include "engine/engine.h"

namespace postern::plugin {
namespace {

constexpr int round_every_ms = 1'000;

/// Rows that a replica deletes by itself would be missing when its primary deletes them.
bool may_write() {
  return !engine::server_is_read_only() && !engine::server_is_replica();
}

}  // namespace

Sweeper::Sweeper(Engine &engine, std::string name, Round round)
    : engine_(engine), name_(std::move(name)), round_(std::move(round)) {}

Sweeper::~Sweeper() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  thread_.join();
}

bool Sweeper::start() {
  return poller_ && poller_.add(wake_.fd(), net::Poller::readable, nullptr) &&
         thread_.start([](void *self) { static_cast<Sweeper *>(self)->work(); }, this, name_ + " sweep");
}

void Sweeper::work() {
  const std::string thread_name = name_ + " sweeper";
  const ThreadIdentity who{
      .access = Access::write, .name = thread_name.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  std::unique_ptr<Executor> executor = engine_.attach(who, stop_);
  if (executor != nullptr) {
    executor->describe(name_ + ": deletes rows of expired keys");
    executor->allow_row_wait(0);
  }
  const auto goes_on = [&] {
    return !stop_.load(std::memory_order_acquire) && may_write() && !executor->server_stopping();
  };
  while (executor != nullptr && !stop_.load(std::memory_order_acquire) && !executor->server_stopping()) {
    try {
      if (may_write()) deleted_.fetch_add(round_(*executor, goes_on), std::memory_order_relaxed);
    } catch (const std::bad_alloc &) {
      // Once more, when there may be memory again.
    }
    executor->idle();
    epoll_event event;
    if (poller_.wait({&event, 1}, round_every_ms) != 0) wake_.drain();
  }
  executor.reset();
  pool::drain();
}

}  // namespace postern::plugin
