// plan_store.h: PlanStore, the plans that a thread keeps, found by a form, the values in it that shape them, and the
// context of a session.
//
// A thread's own. Plans are bounded in number and bytes: the least recently used leaves for a new one. Each leaves at
// an age, so that it follows the statistics, and as soon as others want its tables or those are no longer the same.
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
  size_t bytes_max;  ///< but for the last one that came
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
///     size_t bytes() const           of memory, about
///     bool outdated() const          its tables are others, or their statistics
///     bool wanted_by_others() const  somebody waits for one of its tables
template <class Held, class Context>
class PlanStore {
 public:
  using Plan = typename Held::element_type;
  using Key = PlanKey<Context>;

  explicit PlanStore(const PlanBounds &bounds) : bounds_(bounds) {}

  bool empty() const { return kept_.empty(); }
  size_t size() const { return kept_.size(); }

  /// The plan that was made for this version of its tables; nullptr: there is none that may be used.
  Plan *find(const Key &key, uint64_t version, uint64_t now_us) {
    const auto [first, last] = kept_.equal_range(number_of(key));
    for (auto at = first; at != last; ++at) {
      Kept &kept = at->second;
      if (kept.form != key.form || kept.shape != key.shape || !(kept.context == key.context)) continue;
      if (kept.version != version || is_old(kept, now_us) || kept.plan->outdated()) {
        kept_.erase(at);
        return nullptr;
      }
      kept.used = ++uses_;
      return kept.plan.get();
    }
    return nullptr;
  }

  /// Has those leave that are too much beside a new one.
  void make_room() {
    size_t bytes = 0;
    for (const auto &[number, kept] : kept_) bytes += kept.plan->bytes();
    while (!kept_.empty() && (kept_.size() >= bounds_.plans_max || bytes > bounds_.bytes_max)) {
      const auto least = std::ranges::min_element(kept_, {}, [](const auto &one) { return one.second.used; });
      bytes -= std::min(bytes, least->second.plan->bytes());
      kept_.erase(least);
    }
  }
  /// After make_room(), for a key that was not found.
  Plan *add(const Key &key, uint64_t version, uint64_t now_us, Held plan) {
    const auto at = kept_.emplace(
        number_of(key), Kept{key.form, std::string(key.shape), key.context, version, now_us, ++uses_, std::move(plan)});
    return at->second.plan.get();
  }

  void drop(const Plan *plan) {
    const auto at = std::ranges::find(kept_, plan, [](const auto &one) { return one.second.plan.get(); });
    if (at != kept_.end()) kept_.erase(at);
  }
  /// Drops plans of which others want a table or have changed one and, if `at_age`, the old ones.
  void drop_unwanted(uint64_t now_us, bool at_age) {
    std::erase_if(kept_, [&](const auto &one) {
      const Kept &kept = one.second;
      return kept.plan->wanted_by_others() || kept.plan->outdated() || (at_age && is_old(kept, now_us));
    });
  }
  void clear() { kept_.clear(); }

 private:
  struct Kept {
    uint64_t form;
    std::string shape;
    Context context;
    uint64_t version;
    uint64_t made_us;
    uint64_t used;  // a number that grows with each use
    Held plan;
  };

  static uint64_t number_of(const Key &key) { return key.form * 0x9e3779b97f4a7c15 ^ std::hash<Bytes>{}(key.shape); }
  bool is_old(const Kept &kept, uint64_t now_us) const { return now_us - kept.made_us > bounds_.age_max_us; }

  const PlanBounds bounds_;
  std::unordered_multimap<uint64_t, Kept> kept_;  // by number_of() their keys
  uint64_t uses_ = 0;
};

}  // namespace postern::sql
