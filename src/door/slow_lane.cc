#include "door/slow_lane.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "door/worker.h"
#include "net/address.h"

namespace postern::door {
namespace {

/// Unsent bytes of a stream above which a flush begins, and below which a parked client counts as reading again.
constexpr size_t flush_bytes = size_t{64} << 10;
constexpr int64_t far_ms = 3'600'000;

/// Sends a stream's rows while the engine reads on, and ends it when nobody is left to read them.
class StreamValve final : public Valve {
 public:
  StreamValve(SlowLane &lane, Connection &connection, const std::atomic<bool> &stop, Counters &counters)
      : lane_(lane), connection_(connection), stop_(stop), counters_(counters) {}

  Flow flow(Output &output) override {
    if (stop_.load(std::memory_order_relaxed)) return Flow::pause;
    if (output.pending_bytes() < flush_bytes) return Flow::more;
    if (looked_ms_ == 0) begin_slice(clock_ms());
    if (!flush(limits::client_stall_ms_max)) return Flow::pause;
    // Large rows to a slow client: it may be long until enough of them have passed for a look at who else waits.
    const int64_t now_ms = clock_ms();
    if (now_ms - looked_ms_ < slice_ms_) return Flow::more;
    time_is_up(now_ms);
    return Flow::pause;
  }

  Flow look(Output &output) override {
    if (stop_.load(std::memory_order_relaxed)) return Flow::pause;
    const int64_t now_ms = clock_ms();
    if (time_is_up(now_ms)) return Flow::pause;
    looked_ms_ = now_ms;
    if (now_ms < presence_due_ms_) return Flow::more;
    presence_due_ms_ = now_ms + limits::presence_ms;
    return reader_is_there(output) ? Flow::more : Flow::pause;
  }
  bool doubts_reader() const override { return doubtful_; }

  /// Whether others are to have the thread now.
  bool time_is_up(int64_t now_ms) {
    if (looked_ms_ == 0) begin_slice(now_ms);
    if (now_ms < slice_end_ms_) return false;
    if (lane_.others_wait(now_ms)) return time_is_up_ = true;
    slice_end_ms_ = now_ms + limits::slice_ms / 2;
    return false;
  }
  bool time_was_up() const { return time_is_up_; }

  /// Sends until little is left. False if that took too long, or there is no sense in going on.
  bool flush(int patience_ms) {
    Output &output = connection_.output;
    output.release();
    const int64_t until_ms = clock_ms() + patience_ms;
    while (output.pending_bytes() != 0) {
      if (stop_.load(std::memory_order_relaxed) || output.broken()) return false;
      const net::Transfer put = connection_.channel->send(output);
      counters_.add(Counter::sends);
      counters_.add(Counter::bytes_sent, put.bytes);
      if (put.bytes != 0) connection_.active_ms = clock_ms();
      if (put.result == net::Transfer::Result::failed) {
        connection_.dead = true;
        return false;
      }
      if (put.result == net::Transfer::Result::some) continue;
      const int64_t left_ms = until_ms - clock_ms();
      if (left_ms <= 0) {
        stalled_ = true;
        return false;
      }
      const net::Wishes wishes = connection_.channel->wishes();
      const short events = wishes.readable_to_send ? POLLIN : POLLOUT;
      pollfd wanted{.fd = connection_.channel->fd(), .events = events, .revents = 0};
      ::poll(&wanted, 1, static_cast<int>(left_ms));
    }
    return true;
  }

  /// Before a paused reply goes on: what is left of it leaves first, as far as the client takes it at once. Without
  /// this a client that takes a little at a time would be written a whole row each time.
  void resume() {
    if (connection_.output.pending_bytes() < flush_bytes) return;
    flush(0);
    if (connection_.output.pending_bytes() < flush_bytes) stalled_ = false;
  }

  bool stalled() const { return stalled_; }

 private:
  /// The time counts from the first row: a scan that took long to find its place again gets as long to go on from it,
  /// or it might never get on.
  void begin_slice(int64_t now_ms) {
    looked_ms_ = now_ms;
    slice_ms_ = std::max<int64_t>(limits::slice_ms, now_ms - begin_ms_);
    slice_end_ms_ = now_ms + slice_ms_;
  }

  bool reader_is_there(Output &output) {
    switch (connection_.channel->presence()) {
      case net::Presence::there: return true;
      case net::Presence::gone: connection_.dead = true; return false;
      case net::Presence::ended: break;
    }
    // A client that was killed and one that waits for its answers look alike until they are sent something.
    doubtful_ = true;
    if (output.pending_bytes() != 0) flush(0);
    return !stalled_ && !connection_.dead;
  }

  SlowLane &lane_;
  Connection &connection_;
  const std::atomic<bool> &stop_;
  Counters &counters_;
  const int64_t begin_ms_ = clock_ms();
  int64_t looked_ms_ = 0;  // 0: no row yet
  int64_t slice_ms_ = limits::slice_ms;
  int64_t slice_end_ms_ = 0;
  int64_t presence_due_ms_ = begin_ms_ + limits::presence_ms;
  bool time_is_up_ = false;
  bool doubtful_ = false;
  bool stalled_ = false;
};

}  // namespace

/// One thread of the lane, with an executor of its own.
class SlowLane::ScanThread {
 public:
  ScanThread(SlowLane &lane, Duty duty, std::string name) : lane_(lane), duty_(duty), name_(std::move(name)) {}

  bool start() {
    if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, &wake_) ||
        (duty_ == Duty::scan && !poller_.add(lane_.parked_poller_.fd(), net::Poller::readable, &lane_)))
      return false;
    return thread_.start([](void *self) { static_cast<ScanThread *>(self)->work(); }, this, name_);
  }
  void wake() { wake_.wake(); }
  void join() { thread_.join(); }
  const Counters &counters() const { return counters_; }

 private:
  void work() {
    // A scan is in no hurry; those who wait for one row are.
    if (duty_ == Duty::scan) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);
    const ThreadIdentity who{
        .access = lane_.access_, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
    executor_ = lane_.engine_.attach(who, lane_.stop_);
    if (executor_ != nullptr) {
      executor_->describe(name_ + ": idle");
      while (!lane_.stop_.load(std::memory_order_acquire) && executor_->standing() == Standing::good) turn();
      executor_->idle();
    }
    executor_.reset();
    lane_.thread_left();
    pool::drain();  // last: connections that die with the lane leave their blocks with this thread
  }

  void turn() {
    const int64_t now_ms = clock_ms();
    int64_t wait_until_ms = now_ms + far_ms;
    if (std::unique_ptr<SlowJob> job = lane_.take(duty_, now_ms, wait_until_ms)) {
      describe(true);
      return run(std::move(job));
    }
    executor_->idle();
    describe(false);
    epoll_event events[4];
    const size_t count = poller_.wait(events, static_cast<int>(std::max<int64_t>(wait_until_ms - now_ms, 0)));
    for (size_t i = 0; i < count; ++i) {
      if (events[i].data.ptr == &wake_) wake_.drain();
      else lane_.unpark_ready();
    }
    lane_.unpark_silent(clock_ms(), counters_);
  }

  void describe(bool working) {
    if (working == described_working_) return;
    described_working_ = working;
    const char *const work = duty_ == Duty::login ? ": verifying a login" : ": scanning, or waiting for a table";
    executor_->describe(name_ + (working ? work : ": idle"));
  }

  void run(std::unique_ptr<SlowJob> job) {
    Connection &connection = *job->connection;
    StreamValve valve(lane_, connection, lane_.stop_, counters_);
    connection.output.set_valve(&valve);
    if (!connection.dead) valve.resume();
    if (valve.stalled()) return park(std::move(job));
    while (job->next != job->ops.size() && !connection.dead && !connection.output.broken()) {
      Op &op = job->ops[job->next];
      if (lane_.duty_for(*job) != duty_) {
        valve.flush(0);
        return hand_over(std::move(job));
      }
      if (op.verb == Verb::login && op.failure == Failure::none) {
        if (!admit(*job, op)) return hand_over(std::move(job));
        if (op.progress == Progress::done) {
          ++job->next;
          continue;
        }
        op.identity->peer.tls = connection.channel->tls();
      }
      op.position = &job->position;
      const bool was_held_up = is_held_up(op.progress);
      run_op(*job, op, valve);
      if (is_held_up(op.progress)) {
        // What is answered must not wait for what is not. A reply already begun stays whole as long as it can.
        if (job->position == nullptr) valve.flush(0);
        return postpone(std::move(job));
      }
      if (op.progress == Progress::done) {
        if (op.verb == Verb::login) note_login(*job, op);
        ++job->next;
        job->lost_runs = 0;
        job->position.reset();
        not_busy(*job);
        // It was here for somebody else's lock. Those behind it may do as well as any, together with others.
        if (was_held_up && job->next != job->ops.size()) break;
        // The next reply begins with room before it; all done, the worker sends what is left.
        if (job->next != job->ops.size() && connection.output.pending_bytes() >= flush_bytes)
          valve.flush(limits::client_stall_ms_max);
        if (valve.stalled()) return park(std::move(job));
        if (job->next != job->ops.size() && valve.time_is_up(clock_ms())) {
          valve.flush(0);
          return make_way(std::move(job));
        }
      } else {
        not_busy(*job);
        if (connection.dead) break;
        if (valve.stalled()) return park(std::move(job));
        if (valve.time_was_up()) return make_way(std::move(job));
        return postpone(std::move(job));  // DDL waits, or the thread must end
      }
    }
    connection.output.set_valve(nullptr);
    if (!connection.dead) connection.output.release();
    if (!connection.dead && !connection.output.broken() && job->next != job->ops.size()) take_the_rest_along(*job);
    go_home(std::move(job));
  }

  /// What was not tried yet is the worker's again.
  static void take_the_rest_along(SlowJob &job) {
    auto rest = std::make_unique<PutOff>();
    rest->arena = std::move(job.arena);
    rest->ops.assign(job.ops.begin() + static_cast<ptrdiff_t>(job.next), job.ops.end());
    job.connection->put_off = std::move(rest);
  }

  /// False if the login has to wait for its turn. It is done if it has come too often to be tried at all.
  bool admit(SlowJob &job, Op &op) {
    op.progress = Progress::waiting;
    if (job.admitted) return true;
    const int64_t now_ms = clock_ms();
    const std::string place = net::Address::peer_network(op.identity->peer.fd);
    Throttle::Verdict verdict = lane_.throttle_.ask(place, op.login->user, now_ms);
    if (verdict.due_ms > now_ms && lane_.logins_waiting() >= limits::logins_waiting_max) verdict.refused = true;
    if (verdict.refused) {
      static log::Limited limited;
      if (uint64_t missed; limited.pass(missed))
        log::warning("%s: too many failed logins from %s, refusing some without looking", name_.c_str(), place.c_str());
      op.identity->account.reset();
      forget_password(op);
      counters_.add(Counter::logins_failed);
      tell(op, {.failure = Failure::too_many_logins});
      return true;
    }
    job.admitted = true;
    if (verdict.due_ms <= now_ms) return true;
    job.due_ms = verdict.due_ms;
    return false;
  }

  void note_login(SlowJob &job, const Op &op) {
    job.admitted = false;
    if (op.failure != Failure::none) return;
    const std::string place = net::Address::peer_network(op.identity->peer.fd);
    lane_.throttle_.note(place, op.login->user, op.identity->account != nullptr, clock_ms());
    forget_password(op);
  }

  /// It lies in the connection's input, which others may get when they ask for a buffer.
  static void forget_password(const Op &op) {
    const Bytes password = op.login->password;
    if (!password.empty()) explicit_bzero(const_cast<char *>(password.data()), password.size());
  }

  static bool is_held_up(Progress progress) { return progress == Progress::busy || progress == Progress::locked; }

  /// Runs one op, which is done afterwards, or paused, or held up.
  void run_op(SlowJob &job, Op &op, StreamValve &valve) {
    Output &output = job.connection->output;
    const Output::Mark mark = output.mark();
    // What a write answers may leave when it is committed, and no sooner.
    const bool held = writes(op.verb);
    output.set_valve(held ? nullptr : &valve);
    if (held) output.set_reply_bytes_max(limits::edit_reply_bytes_max);
    const Settlement settlement = executor_->run({&op, 1});
    if (held) output.set_reply_bytes_max(limits::find_bytes_fast_max);
    output.set_valve(&valve);
    if (held && (!settlement.lasted() || op.progress != Progress::done)) {
      output.rewind(mark);
      op.reply->restart();
    }
    if (!settlement.lasted()) {
      if (!settlement.repeatable) {
        tell(op, {.failure = settlement.failure, .engine_code = settlement.engine_code, .message = settlement.message});
      } else if (settlement.failure == Failure::table_busy) {
        op.progress = Progress::busy;  // everything is held, by a backup
      } else if (++job.lost_runs <= limits::lost_runs_max) {
        op.progress = Progress::locked;  // in the way of others: let them go first
      } else {
        tell(op, {.failure = settlement.failure, .engine_code = settlement.engine_code, .message = settlement.message});
      }
    }
    if (is_held_up(op.progress) && !may_wait(job, op.progress)) {
      tell(op, {.failure = op.progress == Progress::busy ? Failure::table_busy : Failure::row_locked});
    }
  }

  /// False if the op has waited long enough.
  bool may_wait(SlowJob &job, Progress held_up) const {
    const int64_t now_ms = clock_ms();
    if (job.busy_since_ms < 0) job.busy_since_ms = now_ms;
    job.busy_retry_ms = std::clamp(job.busy_retry_ms * 2, limits::busy_retry_ms_min, limits::busy_retry_ms_max);
    const int64_t most_ms = held_up == Progress::busy ? lane_.settings_.table_wait_ms : executor_->row_wait_ms();
    return now_ms - job.busy_since_ms < most_ms;
  }

  /// The op fails for a reason that the engine did not tell its reply.
  void tell(Op &op, const Outcome &outcome) {
    count_failure(counters_, op, outcome.failure);
    op.reply->done(outcome);
    op.progress = Progress::done;
  }

  /// The wait for a table ends when the op gets on, not only when it is done.
  static void not_busy(SlowJob &job) {
    job.busy_since_ms = -1;
    job.busy_retry_ms = 0;
  }

  void postpone(std::unique_ptr<SlowJob> job) {
    job->connection->output.set_valve(nullptr);
    job->due_ms = clock_ms() + std::max(job->busy_retry_ms, limits::busy_retry_ms_min);
    lane_.put_back(std::move(job));
  }

  /// To whoever does such work, or to wait until it is due.
  void hand_over(std::unique_ptr<SlowJob> job) {
    job->connection->output.set_valve(nullptr);
    lane_.put_back(std::move(job));
  }

  /// Behind all others.
  void make_way(std::unique_ptr<SlowJob> job) {
    job->connection->output.set_valve(nullptr);
    job->long_running = true;
    lane_.put_back(std::move(job));
  }

  void park(std::unique_ptr<SlowJob> job) {
    job->connection->output.set_valve(nullptr);
    lane_.park(std::move(job));
  }

  SlowLane &lane_;
  const Duty duty_;
  const std::string name_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;
  std::unique_ptr<Executor> executor_;
  bool described_working_ = false;
  Thread thread_;
};

SlowLane::SlowLane(const Settings &settings, Engine &engine, Access access)
    : settings_(settings), engine_(engine), access_(access) {}

SlowLane::~SlowLane() {
  stop();
}

bool SlowLane::start() {
  const auto add = [this](Duty duty, const char *work, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      threads_.push_back(std::make_unique<ScanThread>(*this, duty, settings_.name + work + std::to_string(i + 1)));
  };
  add(Duty::scan, " scan ", std::max<uint32_t>(settings_.scan_threads, 1));
  add(Duty::login, " login ", settings_.login_threads);
  threads_running_ = static_cast<uint32_t>(threads_.size());
  for (const auto &thread : threads_) {
    if (!thread->start()) return false;
  }
  return true;
}

void SlowLane::stop() {
  stop_.store(true, std::memory_order_release);
  wake_all();
  for (const auto &thread : threads_) thread->join();
  close();
}

/// Sends everything that is left home, dead, and takes no more.
void SlowLane::close() {
  std::vector<std::unique_ptr<SlowJob>> left;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    for (auto &job : logins_) left.push_back(std::move(job));
    for (auto &job : runnable_) left.push_back(std::move(job));
    for (auto &job : long_running_) left.push_back(std::move(job));
    for (auto &job : delayed_) left.push_back(std::move(job));
    for (auto &job : parked_) left.push_back(std::move(job));
    logins_.clear();
    runnable_.clear();
    long_running_.clear();
    delayed_.clear();
    parked_.clear();
  }
  for (auto &job : left) {
    job->connection->dead = true;
    go_home(std::move(job));
  }
}

/// The last thread to go, because the server stops, leaves nobody hanging.
void SlowLane::thread_left() {
  if (threads_running_.fetch_sub(1, std::memory_order_acq_rel) == 1) close();
}

void SlowLane::submit(std::unique_ptr<SlowJob> job) {
  put_back(std::move(job));
}

void SlowLane::put_back(std::unique_ptr<SlowJob> job) {
  {
    const std::lock_guard guard(mutex_);
    if (!closed_) {
      if (job->due_ms != 0) delayed_.push_back(std::move(job));
      else queue_for(*job).push_back(std::move(job));
    }
  }
  if (job == nullptr) return wake_all();
  job->connection->dead = true;
  go_home(std::move(job));
}

/// Without threads for logins, which a door whose protocol has none does not start, every thread does everything.
SlowLane::Duty SlowLane::duty_for(const SlowJob &job) const {
  const bool login =
      settings_.login_threads != 0 && job.next != job.ops.size() && job.ops[job.next].verb == Verb::login;
  return login ? Duty::login : Duty::scan;
}

std::deque<std::unique_ptr<SlowJob>> &SlowLane::queue_for(const SlowJob &job) {
  if (duty_for(job) == Duty::login) return logins_;
  return job.long_running ? long_running_ : runnable_;
}

size_t SlowLane::logins_waiting() {
  const std::lock_guard guard(mutex_);
  return logins_.size() + static_cast<size_t>(std::count_if(delayed_.begin(), delayed_.end(), [this](const auto &job) {
           return duty_for(*job) == Duty::login;
         }));
}

std::unique_ptr<SlowJob> SlowLane::take(Duty duty, int64_t now_ms, int64_t &wait_until_ms) {
  const std::lock_guard guard(mutex_);
  for (size_t i = 0; i < delayed_.size();) {
    if (delayed_[i]->due_ms > now_ms) {
      wait_until_ms = std::min(wait_until_ms, delayed_[i]->due_ms);
      ++i;
      continue;
    }
    delayed_[i]->due_ms = 0;
    auto &queue = queue_for(*delayed_[i]);
    queue.push_back(std::move(delayed_[i]));
    std::swap(delayed_[i], delayed_.back());
    delayed_.pop_back();
  }
  if (settings_.idle_timeout_ms > 0)
    for (const auto &job : parked_)
      wait_until_ms = std::min(wait_until_ms, job->connection->active_ms + settings_.idle_timeout_ms);
  if (duty == Duty::login) {
    if (logins_.empty()) return nullptr;
    std::unique_ptr<SlowJob> login = std::move(logins_.front());
    logins_.pop_front();
    return login;
  }
  // Who has not had much goes first, but not for ever.
  const bool long_running = !long_running_.empty() && (runnable_.empty() || long_running_due_ms_ <= now_ms);
  if (long_running) long_running_due_ms_ = now_ms + 2 * limits::slice_ms;
  auto &jobs = long_running ? long_running_ : runnable_;
  if (jobs.empty()) return nullptr;
  std::unique_ptr<SlowJob> job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

bool SlowLane::others_wait(int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  return !runnable_.empty() || !long_running_.empty() ||
         std::any_of(delayed_.begin(), delayed_.end(),
                     [this, now_ms](const auto &job) { return job->due_ms <= now_ms && duty_for(*job) == Duty::scan; });
}

/// Until its client reads, a job needs no thread.
void SlowLane::park(std::unique_ptr<SlowJob> job) {
  SlowJob *const parked = job.get();
  const int fd = job->connection->channel->fd();
  const bool reads = job->connection->channel->wishes().readable_to_send;
  const std::lock_guard guard(mutex_);
  if (closed_) {
    parked->connection->dead = true;
    return go_home(std::move(job));
  }
  parked_.push_back(std::move(job));
  if (!parked_poller_.add(fd, (reads ? net::Poller::readable : net::Poller::writable) | net::Poller::once, parked)) {
    parked->connection->dead = true;
    runnable_.push_back(std::move(parked_.back()));
    parked_.pop_back();
  }
}

void SlowLane::unpark_ready() {
  epoll_event events[64];
  const size_t count = parked_poller_.wait(events, 0);
  const std::lock_guard guard(mutex_);
  for (const epoll_event &event : std::span(events).first(count)) unpark(static_cast<SlowJob *>(event.data.ptr));
}

/// A client that takes nothing for as long as a silent one may stay is closed.
void SlowLane::unpark_silent(int64_t now_ms, Counters &counters) {
  if (settings_.idle_timeout_ms <= 0) return;
  const std::lock_guard guard(mutex_);
  for (size_t i = parked_.size(); i-- > 0;) {
    SlowJob &job = *parked_[i];
    if (job.connection->active_ms + settings_.idle_timeout_ms > now_ms) continue;
    job.connection->dead = true;
    counters.add(Counter::connections_timed_out);
    unpark(&job);
  }
}

/// With mutex_ held. A job that somebody else unparked already is not found.
void SlowLane::unpark(SlowJob *job) {
  const auto found = std::find_if(parked_.begin(), parked_.end(), [job](const auto &one) { return one.get() == job; });
  if (found == parked_.end()) return;
  parked_poller_.remove(job->connection->channel->fd());
  queue_for(*job).push_back(std::move(*found));
  std::swap(*found, parked_.back());
  parked_.pop_back();
}

void SlowLane::go_home(std::unique_ptr<SlowJob> job) {
  // The position dies here, on a thread of the engine's; the ops before the connection that their slots belong to.
  job->position.reset();
  job->ops.clear();
  std::unique_ptr<Connection> connection = std::move(job->connection);
  Worker *const home = job->home;
  job.reset();
  home->take_back(std::move(connection));
}

void SlowLane::wake_all() {
  for (const auto &thread : threads_) thread->wake();
}

void SlowLane::add_counters(Counters &sum) const {
  for (const auto &thread : threads_) sum.absorb(thread->counters());
}

}  // namespace postern::door
