// counting_turns.h: count_turns(), a whole turn of a worker without the engine's part. See turns.h.
#pragma once

#include <cstdint>
#include <utility>

#include "counting.h"
#include "turns.h"

namespace postern::bench {

class CountingMeter final : public Meter {
 public:
  void on() override { Counting::on(); }
  void off() override { Counting::off(); }
};

/// Returns false if a turn had a wrong result.
inline bool count_turns(const char *path, Protocol &protocol, Turns::Plan plan) {
  constexpr uint32_t turns = 100;
  const uint64_t requests = turns * plan.connections * plan.count;
  CountingMeter meter;
  Turns worker(protocol, std::move(plan), meter);
  if (!worker.run(turns)) return false;
  Counting::tell(path, requests);
  return true;
}

}  // namespace postern::bench
