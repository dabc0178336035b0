#include "door/door.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"

namespace postern::door {
namespace {

/// How long workers that cannot accept clients pause: the process is out of descriptors and cannot even refuse, or the
/// kernel refuses the watch.
constexpr int rest_ms = 100;

uint32_t available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace

uint32_t Door::threads_wanted(const Options &options) {
  return options.threads != 0 ? options.threads : options.threads_per_processor * available_processors();
}

uint32_t Door::descriptors_wanted(const Options &options) {
  // For each thread a poller and an eventfd (the slow lane may have one more thread), the keeper's eventfd, the
  // reception's reserve, listening sockets, the slow lane's own poller, the watch's timer and eventfd.
  return 2 * (threads_wanted(options) + options.scan_threads + 1 + options.login_threads + options.script_threads +
              options.committers) +
         7;
}

Door::Door(Options options, Protocol &protocol, Engine &engine, Access access)
    : options_(std::move(options)),
      protocol_(protocol),
      engine_(engine),
      access_(access),
      slow_lane_(options_, engine, access),
      statements_(options_.name + " sql"),
      watch_(options_.name + " watch") {}

Door::~Door() {
  stop();
}

bool Door::start(std::string &error) {
  try {
    return start_all(error);
  } catch (const std::bad_alloc &) {
    stop();
    error = "out of memory";
    return false;
  }
}

bool Door::start_all(std::string &error) {
  if (!reception_.bind(error) || (engine_.up() && !reception_.listen(error))) {
    reception_.close();
    return false;
  }
  reception_.keep_reserve();
  const uint32_t threads = threads_wanted(options_);
  descriptors_ = descriptors::Held::take_besides(descriptors_wanted(options_));
  if (access_ == Access::write || options_.statements_write)
    write_lane_ = std::make_unique<WriteLane>(options_, engine_, [this] { note_ready(); });
  const Worker::Context context{
      .options = options_,
      .protocol = protocol_,
      .engine = engine_,
      .slow_lane = slow_lane_,
      .write_lane = write_lane_.get(),
      .statements = statements_,
      .reception = reception_,
      .watch = watch_,
      .access = access_,
      .server_stopping =
          [](void *self) {
            Door &door = *static_cast<Door *>(self);
            door.stop_.store(true, std::memory_order_release);
            door.wake_.wake();
          },
      .worker_ready = [](void *self) { static_cast<Door *>(self)->note_ready(); },
      .door = this,
  };
  for (uint32_t i = 1; i <= threads; ++i) workers_.push_back(std::make_unique<Worker>(context, i));
  bool started = slow_lane_.start() && (write_lane_ == nullptr || write_lane_->start());
  for (const auto &worker : workers_) started = started && worker->start();
  started = started && (!listening() || reception_.watch());
  started =
      started && keeper_.start([](void *self) { static_cast<Door *>(self)->keep(); }, this, options_.name + " keeper");
  if (!started) {
    error =
        "cannot start " + std::to_string(threads) + " worker threads and what goes with them: " + std::strerror(errno);
    stop();
  }
  return started;
}

/// Called by every worker that is ready, and by the write lane.
void Door::note_ready() {
  if (ready_.fetch_add(1, std::memory_order_acq_rel) + 1 == ready_wanted()) wake_.wake();
}

size_t Door::ready_wanted() const {
  return workers_.size() + (write_lane_ != nullptr ? 1 : 0);
}

/// Clients may connect only when the server is up: earlier ones would wait for recovery without knowing.
void Door::listen_when_ready() {
  if (listening() || cannot_listen_ || stop_.load(std::memory_order_acquire) ||
      ready_.load(std::memory_order_acquire) != ready_wanted())
    return;
  std::string error;
  if (reception_.listen(error)) return watch();
  log::error("%s port: %s", options_.name.c_str(), error.c_str());
  cannot_listen_ = true;
  reception_.close();
}

/// If the kernel refuses, the keeper tries again.
void Door::watch() {
  if (reception_.watch()) return;
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed))
    log::error("%s door: not every worker can accept clients, this is tried again: %s", options_.name.c_str(),
               std::strerror(errno));
}

void Door::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  keeper_.join();
  reception_.close();
  // Workers first: then no new job comes to the slow lane, and returning connections are closed there.
  for (const auto &worker : workers_) worker->stop();
  for (const auto &worker : workers_) worker->join();
  watch_.stop();
  if (write_lane_ != nullptr) write_lane_->stop();
  slow_lane_.stop();
  statements_.stop();
}

void Door::spare_caller() {
  statements_.spare_caller();
  for (const auto &worker : workers_) worker->spare_caller();
}

/// The keeper's body. It opens the reception when the workers are ready, and closes it before they leave.
void Door::keep() {
  const int look_ms = options_.tls != nullptr ? limits::certificates_look_ms : -1;
  while (!stop_.load(std::memory_order_acquire)) {
    wait_for_wake(reception_.must_rest() ? 0 : look_ms);
    wake_.drain();
    try {
      if (options_.tls != nullptr) options_.tls->refresh();
      listen_when_ready();
    } catch (const std::bad_alloc &) {
      wait_for_wake(rest_ms);
    }
    if (!reception_.must_rest()) continue;
    wait_for_wake(rest_ms);
    watch();
  }
  // A worker has ended because the server goes down: new clients must not wait in the kernel's queue for it.
  reception_.close();
  pool::drain();
}

/// Works without a descriptor.
void Door::wait_for_wake(int timeout_ms) const {
  pollfd woken{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
  ::poll(&woken, 1, timeout_ms);
}

void Door::change(const Options &options) {
  options_.take_changes(options);
  for (const auto &worker : workers_) worker->look_again();
}

void Door::add_counters(Counters &sum) const {
  reception_.add_counters(sum);
  slow_lane_.add_counters(sum);
  if (write_lane_ != nullptr) write_lane_->add_counters(sum);
  statements_.add_counters(sum);
  for (const auto &worker : workers_) worker->add_counters(sum);
}

Crew::Figures Door::figures() const {
  Crew::Figures sum;
  for (const auto &worker : workers_) worker->add_figures(sum);
  return sum;
}

void Door::add_latencies(Latencies &sum) const {
  for (const auto &worker : workers_) worker->add_latencies(sum);
  if (write_lane_ != nullptr) write_lane_->add_latencies(sum);
}

}  // namespace postern::door
