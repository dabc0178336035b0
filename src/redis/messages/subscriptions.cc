#include "redis/messages/subscriptions.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "redis/wire/glob.h"

namespace postern::redis {
namespace {

/// Bytes of a subscription besides its name.
constexpr size_t subscription_bytes = 192;
/// Letters that are taken out of a box at once.
constexpr size_t letters_taken_max = 64;

std::string bulk(Bytes bytes) {
  return std::string("$").append(std::to_string(bytes.size())).append("\r\n").append(bytes).append("\r\n");
}

/// The bytes before the body of a message that comes by this name.
std::shared_ptr<const std::string> head_of(ChannelKind kind, Bytes name) {
  static const std::string channel = "3\r\n" + bulk("message");
  static const std::string shard = "3\r\n" + bulk("smessage");
  if (kind == ChannelKind::pattern) return std::make_shared<const std::string>("4\r\n" + bulk("pmessage") + bulk(name));
  // These live for ever, and are not counted.
  return {std::shared_ptr<void>(), kind == ChannelKind::channel ? &channel : &shard};
}

/// A command with its time. nullptr: out of memory.
SharedMessage make_shown(Bytes line) {
  auto message = std::make_shared<Message>();
  if (!message->charge.add(sizeof(Message) + line.size())) return nullptr;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  char time[64];
  std::snprintf(time, sizeof time, "+%lld.%06ld ", static_cast<long long>(now.tv_sec), now.tv_nsec / 1'000);
  message->body = std::string(time).append(line).append("\r\n");
  return message;
}

void log_cut_off() {
  static log::Limited limited;
  uint64_t missed = 0;
  if (limited.pass(missed))
    log::warning(
        "redis: closed the connection of a subscriber or monitor that did not take what was sent to it (%llu before)",
        static_cast<unsigned long long>(missed));
}

}  // namespace

SharedMessage make_message(Bytes channel, Bytes payload) {
  auto message = std::make_shared<Message>();
  if (!message->charge.add(sizeof(Message) + 2 * channel.size() + payload.size())) return nullptr;
  message->channel = channel;
  message->body = bulk(channel) + bulk(payload);
  return message;
}

// --- one subscriber --------------------------------------------------------------------------------------------------

Subscriber::~Subscriber() {
  unsubscribe_from_all();
  stop_monitoring();
}

void Subscriber::monitor(Bytes user) {
  stop_monitoring();
  all_.add_monitor(*this, user);
  monitors_ = true;
}

void Subscriber::stop_monitoring() noexcept {
  if (std::exchange(monitors_, false)) all_.remove_monitor(*this);
}

bool Subscriber::subscribe(ChannelKind kind, Bytes name) {
  Names &names = names_[static_cast<size_t>(kind)];
  if (names.contains(name)) return true;
  if (!charge_.add(subscription_bytes + name.size())) return false;
  const auto added = names.emplace(name).first;
  try {
    all_.enter(kind, name, *this);
  } catch (const std::bad_alloc &) {
    names.erase(added);
    charge_.subtract(subscription_bytes + name.size());
    throw;
  }
  return true;
}

bool Subscriber::unsubscribe(ChannelKind kind, Bytes name) noexcept {
  Names &names = names_[static_cast<size_t>(kind)];
  const auto at = names.find(name);
  if (at == names.end()) return false;
  all_.leave(kind, name, *this);
  charge_.subtract(subscription_bytes + name.size());
  names.erase(at);
  return true;
}

void Subscriber::unsubscribe_from_all() noexcept {
  for (const ChannelKind kind : {ChannelKind::channel, ChannelKind::pattern, ChannelKind::shard}) {
    for (const std::string &name : names(kind)) all_.leave(kind, name, *this);
    names_[static_cast<size_t>(kind)].clear();
  }
  charge_.subtract(charge_.bytes());
}

Delivered Subscriber::deliver(Output &output, Resp resp) {
  std::vector<Letter> taken;
  taken.reserve(letters_taken_max);
  for (;;) {
    taken.clear();
    {
      const std::lock_guard guard(mutex_);
      if (closed_) return Delivered::close;
      if (output.above_high_water()) return Delivered::later;
      size_t room = limits::output_high_water_bytes;
      while (!box_.empty() && taken.size() != letters_taken_max) {
        const size_t bytes = box_.front().bytes();
        if (!taken.empty() && bytes > room) break;
        room -= std::min(room, bytes);
        box_bytes_ -= bytes;
        box_charge_.subtract(sizeof(Letter));
        taken.push_back(std::move(box_.front()));
        box_.pop_front();
      }
      if (box_bytes_ <= all_.bounds_.slow_bytes_max) slow_since_ms_ = -1;
    }
    if (taken.empty()) return Delivered::all;
    for (const Letter &letter : taken) letter.write(output, resp);
  }
}

std::deque<Letter> Subscriber::take_all() {
  const std::lock_guard guard(mutex_);
  box_bytes_ = 0;
  box_charge_.subtract(box_charge_.bytes());
  slow_since_ms_ = -1;
  return std::exchange(box_, {});
}

/// Under the mutex of all subscriptions.
void Subscriber::put(Letter letter, int64_t now_ms) noexcept {
  bool calls = false;
  {
    const std::lock_guard guard(mutex_);
    if (closed_) return;
    calls = box_.empty();
    box_bytes_ += letter.bytes();
    try {
      if (has_too_much(now_ms) || !box_charge_.add(sizeof(Letter))) close_box();
      else box_.push_back(std::move(letter));
    } catch (const std::bad_alloc &) {
      close_box();
    }
    calls = calls || closed_;
  }
  if (calls) waker_.call();
}

bool Subscriber::has_too_much(int64_t now_ms) noexcept {
  const BoxBounds &bounds = all_.bounds_;
  if (bounds.bytes_max != 0 && box_bytes_ > bounds.bytes_max) return true;
  if (bounds.slow_bytes_max == 0 || box_bytes_ <= bounds.slow_bytes_max) {
    slow_since_ms_ = -1;
    return false;
  }
  if (slow_since_ms_ < 0) slow_since_ms_ = now_ms;
  return now_ms - slow_since_ms_ > bounds.slow_s_max * 1'000;
}

void Subscriber::close_box() noexcept {
  closed_ = true;
  box_ = {};
  box_bytes_ = 0;
  box_charge_.subtract(box_charge_.bytes());
  all_.cut_off_.fetch_add(1, std::memory_order_relaxed);
  log_cut_off();
}

// --- all of them -----------------------------------------------------------------------------------------------------

void Subscriptions::enter(ChannelKind kind, Bytes name, Subscriber &subscriber) {
  Room room{.head = head_of(kind, name), .subscribers = {}};
  const std::lock_guard guard(mutex_);
  Rooms &rooms = rooms_[static_cast<size_t>(kind)];
  auto at = rooms.find(name);
  if (at == rooms.end()) at = rooms.emplace(name, std::move(room)).first;
  try {
    at->second.subscribers.push_back(&subscriber);
  } catch (const std::bad_alloc &) {
    if (at->second.subscribers.empty()) rooms.erase(at);
    throw;
  }
  count_.fetch_add(1);
}

void Subscriptions::leave(ChannelKind kind, Bytes name, const Subscriber &subscriber) noexcept {
  const std::lock_guard guard(mutex_);
  Rooms &rooms = rooms_[static_cast<size_t>(kind)];
  const auto at = rooms.find(name);
  std::vector<Subscriber *> &its = at->second.subscribers;
  std::swap(*std::find(its.begin(), its.end(), &subscriber), its.back());
  its.pop_back();
  if (its.empty()) rooms.erase(at);
  count_.fetch_sub(1);
}

void Subscriptions::publish(ChannelKind kind, const SharedMessage &message) {
  const int64_t now_ms = clock_ms();
  const std::lock_guard guard(mutex_);
  const auto send_to = [&](const Room &room) {
    for (Subscriber *const subscriber : room.subscribers) subscriber->put({room.head, message}, now_ms);
  };
  if (const auto at = rooms(kind).find(Bytes(message->channel)); at != rooms(kind).end()) send_to(at->second);
  if (kind == ChannelKind::shard) return;
  for (const auto &[pattern, room] : rooms(ChannelKind::pattern))
    if (glob_matches(pattern, message->channel)) send_to(room);
}

void Subscriptions::add_monitor(Subscriber &subscriber, Bytes user) {
  Monitor monitor{.subscriber = &subscriber, .user = std::string(user)};
  const std::lock_guard guard(mutex_);
  monitors_.push_back(std::move(monitor));
  monitor_count_.store(monitors_.size(), std::memory_order_relaxed);
}

void Subscriptions::remove_monitor(const Subscriber &subscriber) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase_if(monitors_, [&subscriber](const Monitor &one) { return one.subscriber == &subscriber; });
  monitor_count_.store(monitors_.size(), std::memory_order_relaxed);
}

void Subscriptions::show(Bytes user, std::span<const std::string> lines) {
  const int64_t now_ms = clock_ms();
  const std::lock_guard guard(mutex_);
  const bool any =
      std::any_of(monitors_.begin(), monitors_.end(), [user](const Monitor &one) { return one.user == user; });
  if (!any) return;
  for (const std::string &line : lines) {
    const SharedMessage message = make_shown(line);
    if (message == nullptr) continue;
    for (const Monitor &one : monitors_)
      if (one.user == user) one.subscriber->put({nullptr, message}, now_ms);
  }
}

size_t Subscriptions::receivers(ChannelKind kind, Bytes channel) const {
  const std::lock_guard guard(mutex_);
  const auto at = rooms(kind).find(channel);
  size_t count = at == rooms(kind).end() ? 0 : at->second.subscribers.size();
  if (kind == ChannelKind::shard) return count;
  for (const auto &[pattern, room] : rooms(ChannelKind::pattern))
    if (glob_matches(pattern, channel)) count += room.subscribers.size();
  return count;
}

size_t Subscriptions::subscribers(ChannelKind kind, Bytes channel) const {
  const std::lock_guard guard(mutex_);
  const auto at = rooms(kind).find(channel);
  return at == rooms(kind).end() ? 0 : at->second.subscribers.size();
}

size_t Subscriptions::count(ChannelKind kind) const {
  const std::lock_guard guard(mutex_);
  return rooms(kind).size();
}

std::vector<std::string> Subscriptions::channels(ChannelKind kind, std::optional<Bytes> pattern) const {
  std::vector<std::string> names;
  const std::lock_guard guard(mutex_);
  for (const auto &[name, room] : rooms(kind))
    if (!pattern || glob_matches(*pattern, name)) names.push_back(name);
  return names;
}

}  // namespace postern::redis
