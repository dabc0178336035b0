#include "redis/tables.h"

#include <new>

#include "base/clock.h"

namespace postern::redis {

bool Tables::begin(Batch &batch, uint32_t ops_max) {
  if (generation_ != maps_.generation()) {
    generation_ = maps_.generation();
    open_.use(maps_.snapshot());
  }
  const int64_t now_ms = clock_ms();
  const bool none = generation_ == 0;
  const bool claimed = (none || ops_max > 2 * maps_.refresh_ops()) && maps_.claim_refresh(now_ms);
  if (!none && !claimed) return true;
  refresh_ = std::make_unique<items::Refresh>(maps_, claimed);
  batch.act_for(nullptr);
  refresh_->add_to(batch);
  return !none && !maps_.stale(now_ms);
}

void Tables::settled() {
  if (refresh_ != nullptr) {
    try {
      refresh_->publish(clock_ms());
    } catch (const std::bad_alloc &) {
      // The earlier snapshot stays, until the next look.
    }
    refresh_.reset();
  }
  open_.settled();
  kept_.clear();
}

}  // namespace postern::redis
