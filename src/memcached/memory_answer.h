// memory_answer.h: MemoryAnswer, which carries a command out in memory and answers. See answer.h.
#pragma once

#include <cstdint>

#include "memcached/answer.h"
#include "memcached/cache.h"

namespace postern::memcached {

/// Carries the command out when its turn among the ops has come, and once: what was changed stays so even if the
/// transaction of the ops around it is lost and they are run again.
class MemoryAnswer final : public KeyAnswer, private Cache::Reader {
 public:
  /// `keyed` is the request with the key as it is without the container's name. `target.space` is set.
  MemoryAnswer(const Request &request, const Request &keyed, OpenContainer &target, Cache &cache, Group *group,
               const Surroundings &with)
      : KeyAnswer(request, &target, group, with), keyed_(keyed), cache_(cache), now_(with.now) {}

  void done(const Outcome &outcome) override;

 private:
  void item(const Item &item) override;
  void number(uint64_t number, const Item &item) override;
  void count_all();

  const Request &keyed_;
  Cache &cache_;
  const int64_t now_;
  Cache::Outcome came_to_;
  uint64_t number_ = 0;
  Item item_;
  bool carried_out_ = false;
  bool heard_ = false;
};

}  // namespace postern::memcached
