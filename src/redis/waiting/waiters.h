// waiters.h: blocking commands. Waiting: one blocked command. Waiters: all of them, by key. FedKeys: keys that a
// session pushed to. Serving: a pusher that is answered when the clients it woke are served.
//
// After commit a push wakes the client that has waited longest, one per element type, because the key's type is known
// only to its reader. A woken client takes the elements that it finds in a transaction of its own, as any client, so a
// spurious or late wake does no harm. When it leaves, the next waiter becomes the first, is woken, and checks the key:
// so elements are taken in the order in which the clients began to wait. The first waiter also polls the key from time
// to time, for elements that came without a wake.
//
// A woken client holds back the push's reply until it finds the key empty. When it leaves, the debt passes to the
// clients that it moves to the head of a queue and to those it wakes. So a serving is over when no client can take any
// more of the pushed elements. Each waits only for clients that were woken later, so there is no cycle.
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

/// How often the first waiter polls its key for elements that came without a wake.
inline constexpr int64_t waiting_look_ms = 1'000;
/// The memory of a waited-for key besides its name.
inline constexpr size_t waiting_key_bytes = 160;

/// Keys that a session's commands may have pushed to. Owned by the session.
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

  std::string text_;  // each one's size and bytes
};

/// A client that has pushed to keys, and is answered only after their waiters have tried. Shared by its session and the
/// waiters that hold back its reply.
class Serving {
 public:
  /// `waker` lives until Waiters::forget().
  explicit Serving(Waker &waker) : waker_(&waker) {}

 private:
  friend class Waiters;

  // Guarded by the mutex of Waiters.
  Waker *waker_;       // nullptr: its client waits for it no more
  size_t owed_ = 0;    // by so many
  bool late_ = false;  // its client waited too long
};
using Servings = std::vector<std::shared_ptr<Serving>>;

/// How CLIENT UNBLOCK ended a wait.
enum class Unblocked : uint8_t { no, as_late, with_error };

/// Owned by its session and touched by one thread at a time, but for what `Waiters` guards.
class Waiting {
 public:
  /// The wakes since the last call.
  struct News {
    bool fed = false;    ///< a client has pushed to a key
    bool first = false;  ///< it has become the first waiter of a key
    Unblocked unblocked = Unblocked::no;
  };

  /// `all` and `waker` outlive it. `client`: the number for CLIENT UNBLOCK.
  Waiting(Waiters &all, Waker &waker, uint64_t client) : all_(all), waker_(waker), client_(client) {}
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  ~Waiting();

  /// Joins the queues of waiters for elements of this type in these keys, once. Throws std::bad_alloc.
  void join(uint8_t database, Type type, std::span<const Bytes> keys);
  bool joined() const { return joined_; }
  News take_news();
  /// The servings that it has held back since it took its news.
  const Servings &owed() const { return owed_; }
  /// Called when it found nothing after its last news.
  void note_nothing();
  /// Marks the keys of which it is the first waiter. False: none.
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

  /// Whether all waiters of a queue are woken at once: readers of a stream take nothing from each other.
  static bool is_shared(const Queues::value_type &queue) {
    return queue.first.front() == static_cast<char>(Type::stream);
  }

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
  /// The waiters that sleep, or have been woken from sleep.
  size_t count() const { return slept_.load(std::memory_order_relaxed); }
  void note_slept() { slept_.fetch_add(1, std::memory_order_relaxed); }
  void note_over() { slept_.fetch_sub(1, std::memory_order_relaxed); }
  /// Whether any client waits for any key.
  bool any() const { return count_.load() != 0; }
  /// Whether any client waits for elements of that key, of any type. Any thread.
  bool wait_for(uint8_t database, Bytes key) const;
  /// Wakes the waiters, which then hold back `servings`. Called after the push is committed. Any thread.
  void tell(const FedKeys &keys, const Servings &servings) noexcept;
  /// Whether no waiter holds it back any more. Any thread.
  bool is_over(const Serving &serving) const;
  /// Its client no longer waits for it; `late`: it waited too long, and no other client shall wait for the same
  /// waiters.
  void forget(Serving &serving, bool late) noexcept;
  /// Ends the wait of a client. False: it does not wait. Any thread.
  bool unblock(uint64_t client, Unblocked how);

 private:
  friend Waiting;

  void enter(Waiting &waiter);
  void leave(Waiting &waiter) noexcept;
  void leave_queue(Waiting::Place &place) noexcept;
  void tell_first(const std::string &name, const Servings &servings) noexcept;
  void tell_all(const std::string &name) noexcept;
  static void owe(Waiting &waiter, const Servings &servings) noexcept;
  static void settle(Servings &servings) noexcept;

  mutable std::mutex mutex_;  // above that of a worker's sleepers
  Waiting::Queues queues_;
  Waiting *oldest_ = nullptr;
  Waiting *newest_ = nullptr;
  // Raised before a waiter's last check, and read after a commit: at least one of the two sees the other.
  std::atomic<size_t> count_{0};
  std::atomic<size_t> slept_{0};
};

}  // namespace postern::redis
