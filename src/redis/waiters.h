// waiters.h: Waiting, a command that waits for elements, Waiters, all of them by the keys they wait for, and FedKeys,
// what a session has put elements into.
//
// Who puts elements into a key tells the one that has waited for it longest, once that is committed: of each type one,
// for only who reads the key knows its type. It takes what it finds in a transaction of its own, as anybody, so a call
// that comes for nothing, or too late, does no harm. When it leaves, the next one becomes the first, is told so, and
// looks: what was put there together, or meanwhile, is taken one behind the other, in the order in which they began to
// wait. The first looks after the key now and then, too, for elements that nobody told of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "contract/session.h"
#include "redis/keyspace/map.h"

namespace postern::redis {

class Waiters;

/// How often the first of those that wait for a key looks for elements that nobody told it of.
inline constexpr int64_t waiting_look_ms = 1'000;
/// What a key that is waited for takes besides its bytes.
inline constexpr size_t waiting_key_bytes = 160;

/// Keys that commands of a session may have put elements into. The session's own.
class FedKeys {
 public:
  /// Throws std::bad_alloc.
  void note(uint8_t database, Bytes key);
  bool empty() const { return text_.empty(); }
  void clear();
  /// Calls `visit` with each: its database, a byte, and the key.
  template <class Visit>
  void visit(Visit visit) const {
    for (Bytes rest = text_; !rest.empty();) {
      const size_t size = size_at(rest);
      visit(rest.substr(sizeof(uint32_t), size));
      rest.remove_prefix(sizeof(uint32_t) + size);
    }
  }

 private:
  static size_t size_at(Bytes text);

  std::string text_;  // of each its size and itself
};

/// How CLIENT UNBLOCK ended a wait.
enum class Unblocked : uint8_t { no, as_late, with_error };

/// Owned by its session and touched by one thread at a time, but for what `Waiters` guards.
class Waiting {
 public:
  /// What it has been told of since it was last asked.
  struct News {
    bool fed = false;    ///< somebody has put elements into a key
    bool first = false;  ///< it has become the first of those that wait for a key
    Unblocked unblocked = Unblocked::no;
  };

  /// `all` and `waker` outlive it. `client`: whom CLIENT UNBLOCK names.
  Waiting(Waiters &all, Waker &waker, uint64_t client) : all_(all), waker_(waker), client_(client) {}
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  ~Waiting();

  /// Joins the queues of who waits for elements of this type in these keys, once. Throws std::bad_alloc.
  void join(uint8_t database, Type type, std::span<const Bytes> keys);
  bool joined() const { return joined_; }
  News take_news();
  /// Of which of its keys it is the first that waits. False: of none.
  bool find_turns(std::vector<bool> &turns) const;

 private:
  friend Waiters;

  struct Place;
  struct Queue {
    Place *first = nullptr;
    Place *last = nullptr;
  };
  using Queues = std::unordered_map<std::string, Queue>;  // by type, database and key
  struct Place {
    Waiting *waiter = nullptr;
    Queues::value_type *queue = nullptr;
    Place *before = nullptr;
    Place *behind = nullptr;
  };

  Waiters &all_;
  Waker &waker_;
  const uint64_t client_;
  bool joined_ = false;
  // Under the mutex of `all_`.
  std::vector<Place> places_;
  News news_;
  Waiting *older_ = nullptr;
  Waiting *newer_ = nullptr;
};

class Waiters {
 public:
  /// Those that sleep, or that have slept and were called.
  size_t count() const { return slept_.load(std::memory_order_relaxed); }
  void note_slept() { slept_.fetch_add(1, std::memory_order_relaxed); }
  void note_over() { slept_.fetch_sub(1, std::memory_order_relaxed); }
  /// Tells those that wait. To be called when what was put there is committed. Any thread.
  void tell(const FedKeys &keys);
  /// Ends the wait of a client. False: it does not wait. Any thread.
  bool unblock(uint64_t client, Unblocked how);

 private:
  friend Waiting;

  void enter(Waiting &waiter);
  void leave(Waiting &waiter) noexcept;
  void leave_queue(Waiting::Place &place) noexcept;
  void tell_first(const std::string &name) noexcept;

  mutable std::mutex mutex_;  // above that of a worker's sleepers
  Waiting::Queues queues_;
  Waiting *oldest_ = nullptr;
  Waiting *newest_ = nullptr;
  // Raised before a waiter looks for the last time, and read behind a commit: one of both sees the other.
  std::atomic<size_t> count_{0};
  std::atomic<size_t> slept_{0};
};

}  // namespace postern::redis
