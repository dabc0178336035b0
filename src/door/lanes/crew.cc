#include "door/lanes/crew.h"

#include <pthread.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/pool.h"
#include "door/lanes/loop_watch.h"

namespace postern::door {

thread_local Crew::Member *Crew::current_ = nullptr;

Crew::Member::Member() {
  sem_init(&called_, 0, 0);
}

Crew::Member::~Member() {
  sem_destroy(&called_);
}

/// Without other clients the loop stays, until the watch notices one.
void Crew::Member::thread_waits() noexcept {
  if (crew_->others() != Others::none) crew_->move(*this);
}

Crew::Crew(std::string name, Body body, void *owner, LoopWatch &watch)
    : name_(std::move(name)), body_(body), owner_(owner), watch_(watch) {}

Crew::~Crew() = default;

bool Crew::start() {
  const std::lock_guard guard(mutex_);
  return start_member(true);
}

/// With the mutex held.
bool Crew::start_member(bool with_loop) {
  if (count_ == members_.size()) return false;
  std::unique_ptr<Member> member(new (std::nothrow) Member());
  if (member == nullptr) return false;
  member->crew_ = this;
  member->begins_with_loop_ = with_loop;
  member->has_loop_ = with_loop;
  try {
    if (!member->thread_.start(&Crew::work, member.get(), name_)) return false;
  } catch (const std::bad_alloc &) {
    return false;
  }
  if (!with_loop) stand_in_ = member.get();
  members_[count_++] = std::move(member);
  return true;
}

void Crew::work(void *member) {
  Member &me = *static_cast<Member *>(member);
  // An orphan's crew must live until the orphan has left.
  const std::shared_ptr<Crew> crew = me.crew_->shared_from_this();
  current_ = &me;
  if (!me.begins_with_loop_) {
    while (sem_wait(&me.called_) != 0 && errno == EINTR) {
    }
  }
  if (me.has_loop_) crew->body_(crew->owner_, me);
  current_ = nullptr;
  pool::drain();
  const std::lock_guard guard(crew->mutex_);
  if (me.orphaned_) pthread_detach(pthread_self());
  me.left_ = true;
  crew->left_or_orphaned_.notify_all();
}

void Crew::call(Member &member) {
  sem_post(&member.called_);
}

bool Crew::has_stand_in() {
  if (stand_in_ != nullptr) return true;
  const std::lock_guard guard(mutex_);
  if (standing_by_count_ == 0) return start_member(false);
  stand_in_ = standing_by_[--standing_by_count_];
  return true;
}

bool Crew::begin(Member &me, ServerSession &session, Others others, int64_t now_us) {
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return false;
    me.session_ = &session;
  }
  others_.store(others, std::memory_order_relaxed);
  begun_.store(begun() + 1, std::memory_order_relaxed);
  serving_.store(&me, std::memory_order_seq_cst);
  watch_.arm(others == Others::none ? LoopWatch::Look::late : LoopWatch::Look::soon, *this, now_us);
  return true;
}

void Crew::move(const Member &from) noexcept {
  const Member *expected = &from;
  if (!serving_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) return;
  // From here on only the stand-in, which still sleeps, has the loop.
  Member &next = *std::exchange(stand_in_, nullptr);
  next.has_loop_ = true;
  call(next);
}

Crew::Ended Crew::end(Member &me, bool failed, const Traffic &by_server) {
  const Member *expected = &me;
  const bool has_loop = serving_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
  const std::lock_guard guard(mutex_);
  me.session_ = nullptr;
  ++(has_loop ? figures_.in_place : figures_.moved);
  if (has_loop) return Ended::has_loop;
  me.has_loop_ = false;
  if (me.orphaned_) return Ended::orphaned;
  counters_.add(Counter::bytes_received, by_server.received);
  counters_.add(Counter::bytes_sent, by_server.sent);
  counters_.add(Counter::statements_served);
  if (failed) counters_.add(Counter::requests_failed);
  return Ended::moved;
}

bool Crew::stand_by(Member &me) {
  {
    const std::lock_guard guard(mutex_);
    if (over_) return false;
    standing_by_[standing_by_count_++] = &me;
  }
  while (sem_wait(&me.called_) != 0 && errno == EINTR) {
  }
  return me.has_loop_;
}

void Crew::loop_is_over() {
  const std::lock_guard guard(mutex_);
  over_ = true;
  if (stand_in_ != nullptr) call(*std::exchange(stand_in_, nullptr));
  while (standing_by_count_ != 0) call(*standing_by_[--standing_by_count_]);
}

void Crew::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    for (const auto &member : members_)
      if (member != nullptr && member.get() != current_ && member->session_ != nullptr) member->session_->interrupt();
  }
  if (current_ != nullptr && current_->crew_ == this) move(*current_);
}

void Crew::join() {
  for (size_t i = 0;; ++i) {
    Member *member = nullptr;
    {
      std::unique_lock guard(mutex_);
      if (i == count_) return;
      member = members_[i].get();
      if (member == current_) member->orphaned_ = true;
      left_or_orphaned_.wait(guard, [&] { return member->left_ || member->orphaned_; });
      if (member->orphaned_) continue;  // it detaches itself
    }
    member->thread_.join();
  }
}

void Crew::spare_caller() {
  if (current_ == nullptr || current_->crew_ != this) return;
  {
    const std::lock_guard guard(mutex_);
    current_->orphaned_ = true;
    left_or_orphaned_.notify_all();
  }
  move(*current_);
}

void Crew::add_figures(Figures &sum) const {
  const std::lock_guard guard(mutex_);
  sum.in_place += figures_.in_place;
  sum.moved += figures_.moved;
}

void Crew::add_counters(Counters &sum) const {
  const std::lock_guard guard(mutex_);
  sum.absorb(counters_);
}

}  // namespace postern::door
