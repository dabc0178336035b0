// subscriptions.h: Subscriber, the subscriptions of one client and the letters for it, and Subscriptions, the
// subscribers of one port by the names of their subscriptions. A subscriber may also be a monitor, which is sent a line
// for each command that clients of its account carry out.
//
// A subscriber is owned by its session, and only the session's thread subscribes and unsubscribes. Any thread
// publishes: it puts a letter into the box of each subscriber concerned, and calls it; the subscriber empties its box
// when its connection has a turn. All subscribers get letters in the same order. A box is bounded: one that holds too
// much, or much for too long, is emptied and closed together with the connection.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/changing.h"
#include "base/pool.h"
#include "contract/session.h"
#include "redis/messages/letters.h"

namespace postern::redis {

class Subscriptions;

/// Bounds on letters that wait for a slow subscriber.
struct BoxBounds {
  Changing<size_t> bytes_max = size_t{32} << 20;
  /// So many bytes for so long are too much, too; 0: no bound.
  Changing<size_t> slow_bytes_max = size_t{8} << 20;
  Changing<int64_t> slow_s_max = 60;
};

class Subscriber {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// `all` and `waker` outlive it.
  Subscriber(Subscriptions &all, Waker &waker) : all_(all), waker_(waker) {}
  Subscriber(const Subscriber &) = delete;
  Subscriber &operator=(const Subscriber &) = delete;
  ~Subscriber();

  /// Does nothing if it has subscribed already. False: no memory for it. Throws std::bad_alloc.
  [[nodiscard]] bool subscribe(ChannelKind kind, Bytes name);
  /// False: it had not subscribed to that.
  bool unsubscribe(ChannelKind kind, Bytes name) noexcept;
  void unsubscribe_from_all() noexcept;
  /// From now on it receives the commands of this account's clients, and of no other. Throws std::bad_alloc.
  void monitor(Bytes user);
  void stop_monitoring() noexcept;
  bool monitors() const { return monitors_; }
  const Names &names(ChannelKind kind) const { return names_[static_cast<size_t>(kind)]; }
  bool has_any() const { return !names_[0].empty() || !names_[1].empty() || !names_[2].empty(); }
  /// The number of its subscriptions for replies, which count patterns and channels together.
  size_t told_count(ChannelKind kind) const {
    return kind == ChannelKind::shard ? names(kind).size()
                                      : names(ChannelKind::channel).size() + names(ChannelKind::pattern).size();
  }

  /// Writes its letters, up to the output's high water.
  Delivered deliver(Output &output, Resp resp);
  /// Takes all letters.
  std::deque<Letter> take_all();

 private:
  friend Subscriptions;

  void put(Letter letter, int64_t now_ms) noexcept;
  bool has_too_much(int64_t now_ms) noexcept;
  void close_box() noexcept;

  Subscriptions &all_;
  Waker &waker_;
  std::array<Names, 3> names_;
  pool::Tally charge_;  // of names
  bool monitors_ = false;
  std::mutex mutex_;  // taken after that of all subscriptions, before that of a worker's sleepers
  std::deque<Letter> box_;
  pool::Tally box_charge_;  // letters without the messages that they share
  size_t box_bytes_ = 0;
  int64_t slow_since_ms_ = -1;
  bool closed_ = false;
};

class Subscriptions {
 public:
  explicit Subscriptions(const BoxBounds &bounds) : bounds_(bounds) {}

  /// Whether a message could have any receiver. Any thread, as for all functions below.
  bool any() const { return count_.load() != 0; }
  /// Puts the message into the boxes of all subscribers to its channel.
  void publish(ChannelKind kind, const SharedMessage &message);
  /// How many letters publish() would send.
  size_t receivers(ChannelKind kind, Bytes channel) const;

  /// Whether any client sees commands.
  bool is_monitored() const { return monitor_count_.load(std::memory_order_relaxed) != 0; }
  /// Sends commands of an account's client to those that see them, each with the time before it. Throws std::bad_alloc.
  void show(Bytes user, std::span<const std::string> lines);

  /// How many clients have subscribed to the channel itself.
  size_t subscribers(ChannelKind kind, Bytes channel) const;
  /// How many channels, or patterns, have subscribers.
  size_t count(ChannelKind kind) const;
  /// The channels that match; all without a pattern.
  std::vector<std::string> channels(ChannelKind kind, std::optional<Bytes> pattern) const;
  /// Number of subscribers disconnected for being too slow.
  uint64_t cut_off() const { return cut_off_.load(std::memory_order_relaxed); }

 private:
  friend Subscriber;

  struct Room {
    std::shared_ptr<const std::string> head;
    std::vector<Subscriber *> subscribers;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(Bytes name) const { return std::hash<Bytes>()(name); }
  };
  struct Monitor {
    Subscriber *subscriber;
    std::string user;
  };
  using Rooms = std::unordered_map<std::string, Room, Hash, std::equal_to<>>;

  void enter(ChannelKind kind, Bytes name, Subscriber &subscriber);
  void leave(ChannelKind kind, Bytes name, const Subscriber &subscriber) noexcept;
  void add_monitor(Subscriber &subscriber, Bytes user);
  void remove_monitor(const Subscriber &subscriber) noexcept;
  const Rooms &rooms(ChannelKind kind) const { return rooms_[static_cast<size_t>(kind)]; }

  const BoxBounds &bounds_;
  mutable std::mutex mutex_;  // taken before that of a subscriber
  std::array<Rooms, 3> rooms_;
  std::vector<Monitor> monitors_;
  std::atomic<size_t> count_{0};  // of all subscriptions
  std::atomic<size_t> monitor_count_{0};
  std::atomic<uint64_t> cut_off_{0};
};

}  // namespace postern::redis
