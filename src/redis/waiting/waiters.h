// waiters.h: Waiting, a command that waits for elements, Waiters, all of them by the keys they wait for, FedKeys, what
// a session has put elements into, and Serving, who is not answered before those are served.
//
// Who puts elements into a key tells the one that has waited for it longest, once that is committed: of each type one,
// for only who reads the key knows its type. It takes what it finds in a transaction of its own, as anybody, so a call
// that comes for nothing, or too late, does no harm. When it leaves, the next one becomes the first, is told so, and
// looks: what was put there together, or meanwhile, is taken one behind the other, in the order in which they began to
// wait. The first looks after the key now and then, too, for elements that nobody told of.
//
// Who was told of a serving owes it until it has found nothing. If it leaves, those that it makes the first owe it, and
// those that it tells itself of what it has moved. So a serving is over when nobody can take any more of what was put
// there. Each waits for others that were told later, and is served once: they never wait in a circle.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// A client that has put elements into keys, and is not answered before those who wait for them have had their turn. It
/// is its session's, and theirs who owe it.
class Serving {
 public:
  /// `waker` lives until Waiters::forget().
  explicit Serving(Waker &waker) : waker_(&waker) {}

 private:
  friend class Waiters;

  // Under the mutex of who waits.
  Waker *waker_;       // nullptr: its client waits for it no more
  size_t owed_ = 0;    // by so many
  bool late_ = false;  // its client has waited for too long
};
using Servings = std::vector<std::shared_ptr<Serving>>;

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
  /// What it owes since it has taken news.
  const Servings &owed() const { return owed_; }
  /// There was nothing for it of what it had been told of when it last took news.
  void note_nothing();
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
  Servings owed_;
  // Under the mutex of `all_`.
  std::vector<Place> places_;
  News news_;
  Servings owed_with_news_;
  Waiting *older_ = nullptr;
  Waiting *newer_ = nullptr;
};

class Waiters {
 public:
  /// Those that sleep, or that have slept and were called.
  size_t count() const { return slept_.load(std::memory_order_relaxed); }
  void note_slept() { slept_.fetch_add(1, std::memory_order_relaxed); }
  void note_over() { slept_.fetch_sub(1, std::memory_order_relaxed); }
  /// Whether anybody waits, for whatever it be.
  bool any() const { return count_.load() != 0; }
  /// Whether anybody waits for elements of that key, of any type. Any thread.
  bool wait_for(uint8_t database, Bytes key) const;
  /// Tells those that wait, who owe it to `servings`. To be called when what was put there is committed. Any thread.
  void tell(const FedKeys &keys, const Servings &servings);
  /// Whether nobody owes it any more. Any thread.
  bool is_over(const Serving &serving) const;
  /// Its client waits for it no more; `late`: it has waited for too long, and nobody else is to wait for those.
  void forget(Serving &serving, bool late) noexcept;
  /// Ends the wait of a client. False: it does not wait. Any thread.
  bool unblock(uint64_t client, Unblocked how);

 private:
  friend Waiting;

  void enter(Waiting &waiter);
  void leave(Waiting &waiter) noexcept;
  void leave_queue(Waiting::Place &place) noexcept;
  void tell_first(const std::string &name, const Servings &servings) noexcept;
  static void owe(Waiting &waiter, const Servings &servings) noexcept;
  static void settle(Servings &servings) noexcept;

  mutable std::mutex mutex_;  // above that of a worker's sleepers
  Waiting::Queues queues_;
  Waiting *oldest_ = nullptr;
  Waiting *newest_ = nullptr;
  // Raised before a waiter looks for the last time, and read behind a commit: one of both sees the other.
  std::atomic<size_t> count_{0};
  std::atomic<size_t> slept_{0};
};

}  // namespace postern::redis
