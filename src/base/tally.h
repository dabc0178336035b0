// tally.h: Tally, the counters of one thread, and ThreadTallies, the counters of all threads together.
//
// A counter is a row of an enum that is made from a .def file; row_count is the enum's number of rows. A tally has one
// writer; any thread may read it at any time. A write is a plain load and store (relaxed), never a locked instruction,
// and a tally fills whole cache lines of its own.
//
//   enum class Fruit : uint8_t { apple, pear };
//   template <> inline constexpr size_t row_count<Fruit> = 2;
//   Tally<Fruit> tally;
//   tally.add(Fruit::pear);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

namespace postern {

/// How many rows an enum has; specialized beside the enum.
template <class Row>
inline constexpr size_t row_count = 0;

template <class... Rows>
class alignas(64) Tally {
 public:
  template <class Row>
  void add(Row row, uint64_t amount = 1) {
    bump(counts_[place_of(row)], amount);
  }

  template <class Row>
  uint64_t get(Row row) const {
    return counts_[place_of(row)].load(std::memory_order_relaxed);
  }

  /// Adds `other` to this tally: keeps the sums of threads that ended. The caller is this tally's writer.
  void absorb(const Tally &other) {
    for (size_t i = 0; i < count; ++i) bump(counts_[i], other.counts_[i].load(std::memory_order_relaxed));
  }
  /// Takes `other` away from this tally. The caller is this tally's writer.
  void forget(const Tally &other) {
    for (size_t i = 0; i < count; ++i) bump(counts_[i], -other.counts_[i].load(std::memory_order_relaxed));
  }

 private:
  static constexpr size_t count = (row_count<Rows> + ...);

  template <class Row>
  static constexpr size_t place_of(Row row) {
    static_assert((std::is_same_v<Row, Rows> || ...) && row_count<Row> != 0);
    size_t first = 0;
    bool found = false;
    ((found = found || std::is_same_v<Row, Rows>, first += found ? 0 : row_count<Rows>), ...);
    return first + static_cast<size_t>(row);
  }
  static void bump(std::atomic<uint64_t> &number, uint64_t amount) {
    number.store(number.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> counts_[count] = {};
};

/// Tallies for threads that own none: each thread gets one when it first counts. For a protocol's own counters. Any
/// thread may call add() and the others.
template <class... Rows>
class ThreadTallies {
 public:
  ThreadTallies() : serial_(last_serial.fetch_add(1) + 1) {}
  ThreadTallies(const ThreadTallies &) = delete;
  ThreadTallies &operator=(const ThreadTallies &) = delete;

  template <class... Each>
  void add(Each... rows) {
    Tally<Rows...> &tally = own();
    (tally.add(rows), ...);
  }

  /// Adds the counts since the last reset().
  void add_to(Tally<Rows...> &sum) const {
    const std::lock_guard guard(mutex_);
    add_all(sum);
    sum.forget(forgotten_);
  }
  void reset() {
    const std::lock_guard guard(mutex_);
    Tally<Rows...> all;
    add_all(all);
    forgotten_.forget(forgotten_);
    forgotten_.absorb(all);
  }

 private:
  /// The calling thread's tally. A thread that counts for several objects of the same rows gets a new one each time it
  /// changes between them; a door's threads never do.
  Tally<Rows...> &own() {
    struct Last {
      uint64_t serial;
      Tally<Rows...> *tally;
    };
    thread_local Last last{};  // trivial, so that the library can be unloaded while the thread lives on
    if (last.serial != serial_) last = {serial_, &make()};
    return *last.tally;
  }
  [[gnu::noinline]] Tally<Rows...> &make() {
    const std::lock_guard guard(mutex_);
    return *tallies_.emplace_back(std::make_unique<Tally<Rows...>>());
  }
  void add_all(Tally<Rows...> &sum) const {
    for (const auto &tally : tallies_) sum.absorb(*tally);
  }

  static inline std::atomic<uint64_t> last_serial{0};

  const uint64_t serial_;     // distinguishes this object from an earlier one at the same address
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::vector<std::unique_ptr<Tally<Rows...>>> tallies_;
  Tally<Rows...> forgotten_{};  // the counts at the last reset
};

}  // namespace postern
