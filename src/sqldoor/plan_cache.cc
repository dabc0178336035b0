#include "sqldoor/plan_cache.h"

#include <algorithm>
#include <utility>

namespace postern::sqldoor {

std::string KnownForm::shown() const {
  std::string shown;
  char quote = '\0';
  for (const char one : form_) {
    if (quote == '\0') {
      shown += one;
      if (one == '\'' || one == '"') quote = one;
    } else if (one == quote) {
      quote = '\0';
      shown += '?';
      shown += one;
    }
  }
  return shown;
}

bool KnownForm::doubted() const {
  const uint64_t believed = of_session_ ? PlanCache::refusals_of_sessions_believed
                            : of_table_ ? PlanCache::refusals_of_tables_believed
                                        : PlanCache::refusals_believed;
  return plan_ == nullptr && hits() >= hits_before_ + believed;
}

std::shared_ptr<KnownForm> PlanCache::find(const PlanKey &key) {
  Stripe &stripe = stripe_of(key);
  const std::lock_guard guard(stripe.mutex);
  const auto found = stripe.forms.find(key);
  if (found == stripe.forms.end()) return nullptr;
  KnownForm &known = *found->second;
  if (known.retired() || known.doubted()) return nullptr;  // kept for its counts, until more is learnt
  known.used_.store(true, std::memory_order_relaxed);
  return found->second;
}

std::shared_ptr<const KnownForm> PlanCache::learn(const PlanKey &key, const Learnt &learnt) {
  Stripe &stripe = stripe_of(key);
  const std::lock_guard guard(stripe.mutex);
  const auto found = stripe.forms.find(key);
  const std::shared_ptr<KnownForm> before = found != stripe.forms.end() ? found->second : nullptr;
  // Another session has made a plan meanwhile, and may have learnt more.
  if (before != nullptr && before->plan() != nullptr && !before->retired()) return before;
  auto known = std::make_shared<KnownForm>(key, learnt, before.get());
  if (bytes_of(*known) > stripe_bytes_max_) return nullptr;
  drop(stripe, key);
  stripe.bytes += bytes_of(*known);
  stripe.ring.push_back(known.get());
  stripe.forms.emplace(known->key(), known);
  make_room(stripe);
  return known;
}

/// `key` may be a reference into the dropped entry.
void PlanCache::drop(Stripe &stripe, const PlanKey &key) {
  const auto found = stripe.forms.find(key);
  if (found == stripe.forms.end()) return;
  const std::shared_ptr<KnownForm> known = found->second;
  known->retired_.store(true, std::memory_order_relaxed);
  stripe.bytes -= bytes_of(*known);
  const auto at = std::ranges::find(stripe.ring, known.get());
  *at = stripe.ring.back();
  stripe.ring.pop_back();
  stripe.forms.erase(found);
}

void PlanCache::make_room(Stripe &stripe) const {
  while (stripe.bytes > stripe_bytes_max_ && stripe.ring.size() > 1) {
    if (stripe.hand >= stripe.ring.size()) stripe.hand = 0;
    KnownForm &known = *stripe.ring[stripe.hand];
    if (known.used_.exchange(false, std::memory_order_relaxed)) {
      ++stripe.hand;
    } else {
      drop(stripe, known.key());
    }
  }
}

std::vector<std::shared_ptr<const KnownForm>> PlanCache::all() const {
  std::vector<std::shared_ptr<const KnownForm>> all;
  for (const Stripe &stripe : stripes_) {
    const std::lock_guard guard(stripe.mutex);
    for (const auto &form : stripe.forms) all.push_back(form.second);
  }
  return all;
}

const KnownForm *PlanFront::find(const PlanKey &key, uint32_t hits) {
  Slot &slot = slot_of(key);
  if (slot.known == nullptr || slot.known->key() != key || slot.known->retired()) {
    tell(slot);
    slot.known = cache_.find(key);
    if (slot.known == nullptr) return nullptr;
  }
  slot.hits += hits;
  if (slot.hits >= slot.known->untold_max()) {
    tell(slot);
    // The cache may doubt a form without a plan, so it is looked up again from time to time.
    if (slot.known->doubted()) slot.known = cache_.find(key);
  }
  return slot.known.get();
}

void PlanFront::tell(Slot &slot) {
  if (slot.known != nullptr && slot.hits > 0) {
    slot.known->count(slot.hits);
  }
  slot.hits = 0;
}

void PlanFront::clear() {
  for (Slot &slot : slots_) {
    tell(slot);
    slot.known = nullptr;
  }
}

}  // namespace postern::sqldoor
