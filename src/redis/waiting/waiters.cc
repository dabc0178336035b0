#include "redis/waiting/waiters.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace postern::redis {
namespace {

/// A waiter that holds back more servings is too slow for pushers to wait for.
constexpr size_t servings_owed_max = 64;

/// The name of a waited-for key, in a reused buffer. Throws std::bad_alloc.
const std::string &name_of(Type type, Bytes database_and_key, std::string &room) {
  return room.assign(1, static_cast<char>(type)).append(database_and_key);
}

}  // namespace

void FedKeys::note(uint8_t database, Bytes key) {
  const auto size = static_cast<uint32_t>(key.size() + 1);
  text_.reserve(text_.size() + sizeof size + size);
  text_.append(reinterpret_cast<const char *>(&size), sizeof size);
  text_.push_back(static_cast<char>(database));
  text_.append(key);
}

void FedKeys::clear() {
  constexpr size_t bytes_kept_max = 256;
  if (text_.capacity() > bytes_kept_max) std::string().swap(text_);
  text_.clear();
}

size_t FedKeys::size_at(Bytes text) {
  uint32_t size = 0;
  std::memcpy(&size, text.data(), sizeof size);
  return size;
}

Waiting::~Waiting() {
  if (joined_) all_.leave(*this);
}

void Waiting::join(uint8_t database, Type type, std::span<const Bytes> keys) {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const Bytes key : keys)
    names.emplace_back(1, static_cast<char>(type)).append(1, static_cast<char>(database)).append(key);
  const std::lock_guard guard(all_.mutex_);
  places_.reserve(keys.size());
  all_.enter(*this);
  joined_ = true;  // if memory runs out it leaves the queues that it has joined
  for (std::string &name : names) {
    Queues::value_type &queue = *all_.queues_.try_emplace(std::move(name)).first;
    Place &place = places_.emplace_back(Place{this, &queue, queue.second.last, nullptr});
    (place.before != nullptr ? place.before->behind : queue.second.first) = &place;
    queue.second.last = &place;
  }
}

Waiting::News Waiting::take_news() {
  const std::lock_guard guard(all_.mutex_);
  owed_.insert(owed_.end(), std::make_move_iterator(owed_with_news_.begin()),
               std::make_move_iterator(owed_with_news_.end()));
  owed_with_news_.clear();
  return std::exchange(news_, {});
}

void Waiting::note_nothing() {
  if (owed_.empty()) return;
  const std::lock_guard guard(all_.mutex_);
  Waiters::settle(owed_);
}

bool Waiting::find_turns(std::vector<bool> &turns) const {
  turns.resize(places_.size());
  bool any = false;
  const std::lock_guard guard(all_.mutex_);
  for (size_t i = 0; i < places_.size(); ++i) {
    turns[i] = places_[i].queue->second.first == &places_[i] || is_shared(*places_[i].queue);
    any = any || turns[i];
  }
  return any;
}

void Waiters::enter(Waiting &waiter) {
  waiter.older_ = newest_;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = &waiter;
  newest_ = &waiter;
  count_.fetch_add(1);
}

void Waiters::leave(Waiting &waiter) noexcept {
  const std::lock_guard guard(mutex_);
  for (Waiting::Place &place : waiter.places_) leave_queue(place);
  settle(waiter.owed_);
  settle(waiter.owed_with_news_);
  (waiter.older_ != nullptr ? waiter.older_->newer_ : oldest_) = waiter.newer_;
  (waiter.newer_ != nullptr ? waiter.newer_->older_ : newest_) = waiter.older_;
  count_.fetch_sub(1);
}

/// The next waiter polls the key from here on.
void Waiters::leave_queue(Waiting::Place &place) noexcept {
  Waiting::Queue &queue = place.queue->second;
  (place.before != nullptr ? place.before->behind : queue.first) = place.behind;
  (place.behind != nullptr ? place.behind->before : queue.last) = place.before;
  if (queue.first == nullptr) {
    queues_.erase(queues_.find(place.queue->first));
  } else if (place.before == nullptr && queue.first->waiter != place.waiter && !Waiting::is_shared(*place.queue)) {
    Waiting &next = *queue.first->waiter;
    owe(next, place.waiter->owed_);
    owe(next, place.waiter->owed_with_news_);
    next.news_.first = true;
    next.waker_.wake();
  }
}

bool Waiters::wait_for(uint8_t database, Bytes key) const {
  std::string name;
  const std::string place = std::string(1, static_cast<char>(database)).append(key);
  const std::lock_guard guard(mutex_);
  return queues_.contains(name_of(Type::list, place, name)) || queues_.contains(name_of(Type::zset, place, name));
}

/// Without memory it wakes fewer, which then find the elements when they poll their keys.
void Waiters::tell(const FedKeys &keys, const Servings &servings) noexcept {
  if (!any()) return;
  const std::lock_guard guard(mutex_);
  try {
    std::string name;
    keys.visit([&](Bytes key) {
      for (const Type type : {Type::list, Type::zset}) tell_first(name_of(type, key, name), servings);
      tell_all(name_of(Type::stream, key, name));
    });
  } catch (const std::bad_alloc &) {
  }
}

void Waiters::tell_first(const std::string &name, const Servings &servings) noexcept {
  const auto queue = queues_.find(name);
  if (queue == queues_.end() || queue->second.first == nullptr) return;
  Waiting &first = *queue->second.first->waiter;
  owe(first, servings);
  if (!std::exchange(first.news_.fed, true)) first.waker_.wake();
}

/// A read leaves the entries for the others.
void Waiters::tell_all(const std::string &name) noexcept {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return;
  for (const Waiting::Place *place = queue->second.first; place != nullptr; place = place->behind)
    if (!std::exchange(place->waiter->news_.fed, true)) place->waiter->waker_.wake();
}

bool Waiters::is_over(const Serving &serving) const {
  const std::lock_guard guard(mutex_);
  return serving.owed_ == 0;
}

void Waiters::forget(Serving &serving, bool late) noexcept {
  const std::lock_guard guard(mutex_);
  serving.waker_ = nullptr;
  serving.late_ = late;
}

/// A waiter that is held up otherwise delays each client once; without memory it delays none.
void Waiters::owe(Waiting &waiter, const Servings &servings) noexcept {
  const auto is_late = [](const std::shared_ptr<Serving> &one) { return one->late_; };
  const auto owes_late = [&](const Servings &owed) { return std::any_of(owed.begin(), owed.end(), is_late); };
  if (owes_late(waiter.owed_) || owes_late(waiter.owed_with_news_)) return;
  for (const std::shared_ptr<Serving> &serving : servings) {
    if (serving->waker_ == nullptr || waiter.owed_with_news_.size() == servings_owed_max) continue;
    try {
      waiter.owed_with_news_.push_back(serving);
      ++serving->owed_;
    } catch (const std::bad_alloc &) {
      return;
    }
  }
}

void Waiters::settle(Servings &servings) noexcept {
  for (const std::shared_ptr<Serving> &serving : servings)
    if (--serving->owed_ == 0 && serving->waker_ != nullptr) serving->waker_->wake();
  servings.clear();
}

bool Waiters::unblock(uint64_t client, Unblocked how) {
  const std::lock_guard guard(mutex_);
  for (Waiting *waiter = oldest_; waiter != nullptr; waiter = waiter->newer_) {
    if (waiter->client_ != client) continue;
    if (waiter->news_.unblocked != Unblocked::no) return false;
    waiter->news_.unblocked = how;
    waiter->waker_.wake();
    return true;
  }
  return false;
}

}  // namespace postern::redis
