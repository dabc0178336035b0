#include "sweeper.h"

#include <memory>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/pool.h"
#include "engine/engine.h"

namespace postern::plugin {
namespace {

constexpr int round_every_ms = 1'000;
/// How long to rest after the last replayed rows of a binary log: a recovery takes several logs, one after the other.
constexpr int64_t replay_rest_ms = 600'000;

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

/// Rows that a replica has deleted itself would be missing when its primary deletes them; likewise in a recovery from a
/// binary log.
bool Sweeper::may_write() {
  return !engine::server_is_read_only() && !engine::server_is_replica() && !is_replayed();
}

/// Logs come in several files, each of which may have a session of its own.
bool Sweeper::is_replayed() {
  const engine::Replay replay = engine::server_replay();
  const int64_t now_ms = clock_ms();
  if (replay.under_way || replay.statements != std::exchange(replayed_, replay.statements)) {
    if (now_ms >= rests_until_ms_)
      log::note("%s: a binary log is replayed: rows of expired keys stay until %lld minutes after it", name_.c_str(),
                static_cast<long long>(replay_rest_ms / 60'000));
    rests_until_ms_ = now_ms + replay_rest_ms;
  }
  return now_ms < rests_until_ms_;
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
