// crew_limits.h: bounds on the work of a worker's threads beside its turns. Clients have no influence on any of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace postern::limits {

/// Threads of one worker: one has the loop, one stands by, the others finish statements that the loop has moved away
/// from.
inline constexpr size_t crew_threads_max = 4;
/// Microseconds between two checks of the statements that workers serve: one that is met twice lasts, and the loop
/// moves as soon as another client needs it.
inline constexpr int64_t lasting_look_us = 500;
/// The same for the first check of a statement on a worker without other clients.
inline constexpr int64_t lone_look_us = 5'000;
/// Milliseconds after which the loop moves even without an event: other clients have timeouts, and the statement may
/// wait for a table that the worker keeps.
inline constexpr int lasting_ms_max = 20;
/// Statements of a kind that lasted so long twice in a row go to the pool for a while, and are tried again then.
inline constexpr int64_t lasting_us_min = 500;
inline constexpr int64_t lasting_kind_ms = 1'000;
/// Statements that may wait to be served by a worker; more go to the pool.
inline constexpr size_t statements_waiting_max = 32;
/// Microseconds for which a worker serves statements before it polls for other events.
inline constexpr int64_t statements_us_max = 200;
/// Microseconds that a worker waits for its turn to run, if there are more workers than processors. After that it runs
/// in any case.
inline constexpr int64_t permit_wait_us = 20'000;
/// Microseconds that a worker runs before it steps back for a sibling that has events, and for which it waits for the
/// end of that sibling's turn.
inline constexpr int64_t step_back_us = 100;
inline constexpr int64_t stepped_back_us_max = 2'000;
/// Clients that a worker accepts at a socket before it does anything else.
inline constexpr uint32_t accepts_per_turn_max = 16;

}  // namespace postern::limits
