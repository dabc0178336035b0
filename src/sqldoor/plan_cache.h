// plan_cache.h: PlanCache, the plans of a door by dialect and form, and PlanFront, the plans that one session has found
// in it.
//
// A plan belongs to a form (normalise.h) in a dialect (ServerSession::dialect()). Forms without a plan are cached, too,
// so that the server's parser is not called again and again. Bounded in memory: a clock evicts forms that were not used
// during its last round. Any thread; a session looks into its front first, which reads no memory that other threads
// write.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "contract/form_times.h"
#include "contract/server_session.h"

namespace postern::sqldoor {

/// A form in a dialect. Borrows the form.
struct PlanKey {
  uint64_t dialect = 0;
  uint64_t hash = 0;  ///< NormalText::hash()
  Bytes form{};

  bool operator==(const PlanKey &) const = default;
};

/// One form and its plan: immutable but for the counters.
class KnownForm {
 public:
  /// `before`: the previous entry of the form, whose counts continue; or nullptr.
  KnownForm(const PlanKey &key, const Learnt &learnt, const KnownForm *before)
      : dialect_(key.dialect),
        hash_(key.hash),
        form_(key.form),
        plan_(learnt.plan),
        database_(learnt.database),
        why_not_(learnt.why_not),
        of_table_(learnt.of_table),
        of_session_(learnt.of_session),
        hits_before_(before != nullptr ? before->hits() : 0),
        hits_(hits_before_),
        times_(before != nullptr ? before->times_ : std::make_shared<FormTimes>()) {}

  /// nullptr: the server answers it.
  const Plan *plan() const { return plan_.get(); }
  /// The dialect of the session that it was learnt from.
  const std::string &database() const { return database_; }
  /// The reason that there is no plan, in words.
  std::string_view why_not() const { return why_not_; }
  uint64_t dialect() const { return dialect_; }
  Bytes form() const { return form_; }
  /// The form without its string literals.
  std::string shown() const;
  PlanKey key() const { return {dialect_, hash_, form_}; }
  /// How often it was found, without the latest hits in fronts.
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

  /// The times of the form's statements.
  const std::shared_ptr<FormTimes> &times() const { return times_; }
  /// When it was counted last, by wall_clock_ms().
  int64_t seen_ms() const { return seen_ms_.load(std::memory_order_relaxed); }

  /// Adds so many hits. Any thread.
  void count(uint64_t hits) const {
    hits_.fetch_add(hits, std::memory_order_relaxed);
    seen_ms_.store(wall_clock_ms(), std::memory_order_relaxed);
    used_.store(true, std::memory_order_relaxed);
  }
  /// How many hits a front may keep back: few for a form that was hardly ever found.
  uint64_t untold_max() const { return hits() < hits_untold_max ? 1 : hits_untold_max; }
  /// Resets the counts.
  void reset() const {
    hits_.store(0, std::memory_order_relaxed);
    times_->reset();
  }

  /// Whether it is still certain that there is no plan.
  bool is_refusal() const { return plan_ == nullptr && !retired() && !doubted(); }
  /// Marks the entry as replaced or dropped.
  bool retired() const { return retired_.load(std::memory_order_relaxed) || (plan_ != nullptr && !plan_->holds()); }

 private:
  friend class PlanCache;
  friend class PlanFront;

  /// It was found so often without a plan that the server's parser should try again.
  bool doubted() const;

  const uint64_t dialect_;
  const uint64_t hash_;
  const std::string form_;
  const std::shared_ptr<const Plan> plan_;
  const std::string database_;
  const std::string_view why_not_;
  const bool of_table_;
  const bool of_session_;
  const uint64_t hits_before_;
  std::atomic<bool> retired_{false};
  mutable std::atomic<bool> used_{false};  // since the hand passed
  mutable std::atomic<uint64_t> hits_;
  mutable std::atomic<int64_t> seen_ms_{wall_clock_ms()};
  const std::shared_ptr<FormTimes> times_;

  static constexpr uint64_t hits_untold_max = 64;
};

class PlanCache {
 public:
  /// The approximate size of a plan besides its form.
  static constexpr size_t plan_bytes = 2048;
  /// How often a form without a plan is found before the server's parser tries again.
  static constexpr uint64_t refusals_believed = 4096;
  /// The same if one session is the reason; that does not involve the parser.
  static constexpr uint64_t refusals_of_sessions_believed = 4;
  /// The same if the table is the reason, which DDL may change. The parser costs a tenth of a statement.
  static constexpr uint64_t refusals_of_tables_believed = 128;

  explicit PlanCache(size_t bytes_max) : stripe_bytes_max_(bytes_max / stripes_count) {}
  PlanCache(const PlanCache &) = delete;
  PlanCache &operator=(const PlanCache &) = delete;

  /// nullptr: unknown.
  std::shared_ptr<KnownForm> find(const PlanKey &key);
  /// Adds a form, with a plan or without. nullptr: it is too large.
  std::shared_ptr<const KnownForm> learn(const PlanKey &key, const Learnt &learnt);
  /// All entries.
  std::vector<std::shared_ptr<const KnownForm>> all() const;

 private:
  static constexpr size_t stripes_count = 16;
  struct Hash {
    size_t operator()(const PlanKey &key) const { return key.hash ^ (key.dialect * 0x9e3779b97f4a7c15); }
  };
  using Forms = std::unordered_map<PlanKey, std::shared_ptr<KnownForm>, Hash>;  // keys borrow from the values
  struct alignas(64) Stripe {
    mutable std::mutex mutex;  // a leaf
    Forms forms;
    size_t bytes = 0;
    std::vector<KnownForm *> ring;  // the clock's entries
    size_t hand = 0;
  };

  static size_t bytes_of(const KnownForm &known) { return sizeof(KnownForm) + known.form_.size() + plan_bytes; }
  Stripe &stripe_of(const PlanKey &key) { return stripes_[Hash()(key) >> 59 & (stripes_count - 1)]; }
  static void drop(Stripe &stripe, const PlanKey &key);
  void make_room(Stripe &stripe) const;

  const size_t stripe_bytes_max_;
  std::array<Stripe, stripes_count> stripes_;
};

/// One session's way to the cache. One thread at a time; the cache outlives it.
class PlanFront {
 public:
  explicit PlanFront(PlanCache &cache) : cache_(cache) {}
  ~PlanFront() { clear(); }
  PlanFront(const PlanFront &) = delete;
  PlanFront &operator=(const PlanFront &) = delete;

  /// nullptr: unknown. Counts so many hits. Valid until the next call.
  const KnownForm *find(const PlanKey &key, uint32_t hits = 1);
  /// The entry that find() returned, for callers that keep it longer.
  std::shared_ptr<const KnownForm> keep(const PlanKey &key) const { return slot_of(key).known; }
  void clear();

 private:
  struct Slot {
    std::shared_ptr<KnownForm> known{};
    uint32_t hits = 0;  // not added to the form's count yet
  };
  static void tell(Slot &slot);
  Slot &slot_of(const PlanKey &key) { return slots_[key.hash % slots_.size()]; }
  const Slot &slot_of(const PlanKey &key) const { return slots_[key.hash % slots_.size()]; }

  PlanCache &cache_;
  std::array<Slot, 8> slots_;
};

}  // namespace postern::sqldoor
