// plan_store.h: PlanStore, the plans that a thread keeps, found by the form, the values that shape the plan, and the
// session's context.
//
// Each thread has its own. Plans are bounded in number and bytes: a new one evicts the least recently used, but only
// now and then while all plans are in use. A plan is dropped when statistics have changed, at a certain age, when it
// was not used for long, and as soon as another session needs its tables or they have changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"

namespace postern::sql {

struct PlanBounds {
  size_t plans_max;
  size_t bytes_max;        ///< except for the newest one
  uint64_t look_after_us;  ///< at the statistics
  uint64_t unused_max_us;
  uint64_t age_max_us;
};

template <class Context>
struct PlanKey {
  uint64_t form = 0;
  Bytes shape{};
  const Context &context;
};

/// `Held` owns a plan, which has:
///
///     size_t bytes() const           approximate memory
///     bool outdated() const          its tables were replaced
///     bool wanted_by_others() const  another session waits for one of its tables
///     bool is_worth_keeping()        the statistics are similar to those when it was made
template <class Held, class Context>
class PlanStore {
 public:
  using Plan = typename Held::element_type;
  using Key = PlanKey<Context>;

  /// A plan is in use if it was found among the last so many finds for each plan that is kept.
  static constexpr uint64_t finds_in_use = 16;
  /// Of new plans that would evict one in use, one in so many is made.
  static constexpr uint64_t evicts_one_in = 16;

  explicit PlanStore(const PlanBounds &bounds) : bounds_(bounds) {}

  bool empty() const { return kept_.empty(); }
  size_t size() const { return kept_.size(); }
  /// A number that grows with each plan that comes or goes.
  uint64_t changes() const { return changes_; }

  /// The plan made for this version of its tables; nullptr: none may be used.
  Plan *find(const Key &key, uint64_t version, uint64_t now_us) {
    ++uses_;
    const auto [first, last] = kept_.equal_range(number_of(key));
    for (auto at = first; at != last; ++at) {
      Kept &kept = at->second;
      if (kept.form != key.form || kept.shape != key.shape || !(kept.context == key.context)) continue;
      if (kept.version != version || is_old(kept, now_us) || kept.plan->outdated() || !is_good(kept, now_us)) {
        erase(at);
        return nullptr;
      }
      kept.used = uses_;
      kept.used_us = now_us;
      return kept.plan.get();
    }
    return nullptr;
  }

  /// Whether to make a plan for a key that was not found. Statements of more forms in turn than there is room for would
  /// otherwise each evict the plan that is needed next, and all be planned at each execution.
  bool admits() {
    if (!is_full(bytes())) return true;
    const uint64_t unused = uses_ - least_used()->second.used;
    return unused > finds_in_use * kept_.size() || ++refused_ % evicts_one_in == 0;
  }
  /// Evicts plans to make room for a new one.
  void make_room() {
    size_t bytes = this->bytes();
    while (is_full(bytes)) {
      const auto least = least_used();
      bytes -= std::min(bytes, least->second.plan->bytes());
      erase(least);
    }
  }
  /// Call it after make_room(), for a key that was not found.
  Plan *add(const Key &key, uint64_t version, uint64_t now_us, Held plan) {
    ++changes_;
    const auto at = kept_.emplace(number_of(key), Kept{.form = key.form,
                                                       .shape = std::string(key.shape),
                                                       .context = key.context,
                                                       .version = version,
                                                       .made_us = now_us,
                                                       .looked_us = now_us,
                                                       .used_us = now_us,
                                                       .used = ++uses_,
                                                       .plan = std::move(plan)});
    return at->second.plan.get();
  }

  void drop(const Plan *plan) {
    const auto at = std::ranges::find(kept_, plan, [](const auto &one) { return one.second.plan.get(); });
    if (at != kept_.end()) erase(at);
  }
  /// Drops plans with a table that another session needs or has changed.
  void drop_unwanted() {
    drop_if([](const Kept &kept) { return kept.plan->wanted_by_others() || kept.plan->outdated(); });
  }
  /// Drops plans that are too old, or were not used for long.
  void drop_old(uint64_t now_us) {
    drop_if([&](const Kept &kept) { return is_old(kept, now_us); });
  }
  void clear() {
    kept_.clear();
    ++changes_;
  }

  /// Calls `function` with each plan.
  template <class Function>
  void for_each(Function &&function) const {
    for (const auto &[number, kept] : kept_) function(*kept.plan);
  }

 private:
  struct Kept {
    uint64_t form;
    std::string shape;
    Context context;
    uint64_t version;
    uint64_t made_us;
    uint64_t looked_us;
    uint64_t used_us;
    uint64_t used;  // uses_ at its last find
    Held plan;
  };

  static uint64_t number_of(const Key &key) { return key.form * 0x9e3779b97f4a7c15 ^ std::hash<Bytes>{}(key.shape); }
  /// Sessions of one turn began their statements at different times, so `now_us` may lie before `then_us`.
  static bool is_longer_ago(uint64_t then_us, uint64_t now_us, uint64_t us) {
    return now_us > then_us && now_us - then_us > us;
  }
  bool is_old(const Kept &kept, uint64_t now_us) const {
    return is_longer_ago(kept.made_us, now_us, bounds_.age_max_us) ||
           is_longer_ago(kept.used_us, now_us, bounds_.unused_max_us);
  }
  /// Checks the statistics from time to time.
  bool is_good(Kept &kept, uint64_t now_us) const {
    if (!is_longer_ago(kept.looked_us, now_us, bounds_.look_after_us)) return true;
    kept.looked_us = now_us;
    return kept.plan->is_worth_keeping();
  }

  using ByNumber = std::unordered_multimap<uint64_t, Kept>;

  size_t bytes() const {
    size_t sum = 0;
    for (const auto &[number, kept] : kept_) sum += kept.plan->bytes();
    return sum;
  }
  bool is_full(size_t bytes) const {
    return !kept_.empty() && (kept_.size() >= bounds_.plans_max || bytes > bounds_.bytes_max);
  }
  typename ByNumber::iterator least_used() {
    return std::ranges::min_element(kept_, {}, [](const auto &one) { return one.second.used; });
  }

  void erase(typename ByNumber::iterator at) {
    kept_.erase(at);
    ++changes_;
  }
  template <class Condition>
  void drop_if(Condition &&condition) {
    if (std::erase_if(kept_, [&](const auto &one) { return condition(one.second); }) != 0) ++changes_;
  }

  const PlanBounds bounds_;
  ByNumber kept_;  // by number_of() of their keys
  uint64_t changes_ = 0;
  uint64_t uses_ = 0;     // finds, also in vain, and new plans
  uint64_t refused_ = 0;  // new plans, or one in evicts_one_in of them made
};

}  // namespace postern::sql
