#include "late_door.h"

#include <memory>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/pool.h"

namespace postern::plugin {
namespace {

constexpr int ask_every_ms = 500;

}  // namespace

LateDoor::LateDoor(Engine &engine, std::string name, std::string waiting, std::function<bool(Executor &)> has_tables,
                   std::function<void()> open)
    : engine_(engine),
      name_(std::move(name)),
      waiting_(std::move(waiting)),
      has_tables_(std::move(has_tables)),
      open_(std::move(open)) {}

LateDoor::~LateDoor() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  thread_.join();
}

bool LateDoor::start() {
  return poller_ && poller_.add(wake_.fd(), net::Poller::readable, nullptr) &&
         thread_.start([](void *self) { static_cast<LateDoor *>(self)->work(); }, this, name_ + " open");
}

void LateDoor::work() {
  const std::string thread_name = name_ + " opener";
  const ThreadIdentity who{
      .access = Access::read, .name = thread_name.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  std::unique_ptr<Executor> executor = engine_.attach(who, stop_);
  bool found = false;
  if (executor != nullptr) executor->describe(waiting_);
  while (executor != nullptr && !found && !stop_.load(std::memory_order_acquire) && !executor->server_stopping()) {
    try {
      found = has_tables_(*executor);
    } catch (const std::bad_alloc &) {
      executor->idle();  // and once more, when there may be memory again
    }
    epoll_event event;
    if (!found && poller_.wait({&event, 1}, ask_every_ms) != 0) wake_.drain();
  }
  executor.reset();
  pool::drain();
  if (!found) return;
  try {
    open_();
  } catch (const std::bad_alloc &) {
    log::error("%s port: out of memory", name_.c_str());
  }
}

}  // namespace postern::plugin
