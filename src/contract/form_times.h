// form_times.h: FormTimes, the processor time that statements of one form take, answered by workers and by the server.
//
// Only a sample is measured: reading a thread's clock costs a tenth of a statement that a worker answers. A worker's
// run is charged its share of the whole turn, from the first byte received to the last one sent; the server's run is
// charged for the command alone, without receiving it. So the reported gain errs low. Shared by threads.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace postern {

class FormTimes {
 public:
  /// So many first runs are all measured; after them one run in `one_in` is, and counts for all.
  static constexpr uint64_t all_measured = 32;
  static constexpr uint64_t one_in = 32;
  /// So often the next turn is measured for a form in vain, because workers leave its statements to the server.
  static constexpr uint32_t wanted_in_vain = 64;

  class Side {
   public:
    uint64_t runs() const { return runs_.load(std::memory_order_relaxed); }
    uint64_t us() const { return ns_.load(std::memory_order_relaxed) / 1000; }
    bool wants_all() const { return runs() < all_measured; }

   private:
    friend class FormTimes;
    void add(uint64_t runs, uint64_t ns) {
      runs_.fetch_add(runs, std::memory_order_relaxed);
      ns_.fetch_add(runs * ns, std::memory_order_relaxed);
    }
    void reset() {
      runs_.store(0, std::memory_order_relaxed);
      ns_.store(0, std::memory_order_relaxed);
    }
    std::atomic<uint64_t> runs_{0};
    std::atomic<uint64_t> ns_{0};
  };

  const Side &workers() const { return workers_; }
  const Side &server() const { return server_; }

  /// Whether the turn after one that has such a statement should be measured.
  bool wants_turns() const { return workers_.wants_all() && wanted_.load(std::memory_order_relaxed) < wanted_in_vain; }
  /// It will be.
  void note_wanted() { wanted_.store(wanted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// A worker has answered one in a measured turn.
  void note_answered() { wanted_.store(0, std::memory_order_relaxed); }

  /// So many runs have taken `ns` each.
  void add_by_server(uint64_t runs, uint64_t ns) {
    server_.add(runs, ns);
    uint64_t least = least_ns_.load(std::memory_order_relaxed);
    while ((least == 0 || ns < least) && !least_ns_.compare_exchange_weak(least, ns, std::memory_order_relaxed))
      continue;
  }
  void add_by_worker(uint64_t runs, uint64_t ns) {
    workers_.add(runs, ns);
    // The server's first runs include opening tables, so its least time is the fair one.
    const uint64_t least = least_ns_.load(std::memory_order_relaxed);
    if (least != 0)
      spared_ns.fetch_add(static_cast<int64_t>(runs) * (static_cast<int64_t>(least) - static_cast<int64_t>(ns)),
                          std::memory_order_relaxed);
  }
  void reset() {
    workers_.reset();
    server_.reset();
    note_answered();
  }

  /// Processor time saved since the library was loaded: by how much longer the server would have taken for the
  /// statements that workers answered.
  static uint64_t spared_us() {
    const int64_t ns = spared_ns.load(std::memory_order_relaxed);
    return ns > 0 ? static_cast<uint64_t>(ns) / 1000 : 0;
  }

 private:
  static inline std::atomic<int64_t> spared_ns{0};

  Side workers_;
  Side server_;
  std::atomic<uint32_t> wanted_{0};    // turns, since a measured one had an answer
  std::atomic<uint64_t> least_ns_{0};  // the server's fastest run; 0: none
};

/// Chooses one in FormTimes::one_in, at uneven distances, because clients repeat statements in cycles. One thread.
class Sampler {
 public:
  bool chooses() {
    if (--left_ != 0) return false;
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    left_ = 1 + (state_ >> 33) % (2 * FormTimes::one_in - 1);
    return true;
  }

 private:
  uint64_t left_ = FormTimes::one_in;
  uint64_t state_ = 1;
};

/// Nanoseconds of a processor that the calling thread has had. Takes about 300 ns.
inline uint64_t processor_ns() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace postern
