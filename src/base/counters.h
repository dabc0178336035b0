// counters.h: the counters of each door. The rows are in counters.def and failure.def.
//
// Each worker owns one Counters; tally.h says which threads may write and read it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/failure.h"
#include "base/tally.h"

namespace postern {

enum class Counter : uint8_t {
#define COUNTER(name, sentence) name,
#include "base/counters.def"
#undef COUNTER
};

inline constexpr size_t counter_count = 0
#define COUNTER(name, sentence) +1
#include "base/counters.def"
#undef COUNTER
    ;

template <>
inline constexpr size_t row_count<Counter> = counter_count;
template <>
inline constexpr size_t row_count<Failure> = failure_count;

using Counters = Tally<Counter, Failure>;

}  // namespace postern
