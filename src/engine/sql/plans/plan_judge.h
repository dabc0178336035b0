// plan_judge.h: PlanJudge, which decides whether one plan for all values of a form is good: it compares the rows
// examined by the plan with those examined by the server's plans for single values, and notes how executions end.
//
// Any thread. Threads may lose some of each other's notes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace postern::sql {

class PlanJudge {
 public:
  /// True if the server has to execute the statement, so that its examined rows are known.
  bool leaves_next() {
    return leave_.load(std::memory_order_relaxed) && leave_.exchange(false, std::memory_order_relaxed);
  }
  void note_server(uint64_t examined);

  enum class Verdict : uint8_t {
    good,
    plan_anew,  ///< for these values
    give_back,
  };
  /// An execution by the plan was answered.
  Verdict note_answered(uint64_t examined);
  /// An execution was undone: it read too much, drew a warning or failed.
  Verdict note_undone();

  /// Hashes of values for which a plan read too much. Few are kept.
  bool is_heavy(uint64_t values) const;
  void note_heavy(uint64_t values);

 private:
  Verdict give_up();

  std::atomic<uint64_t> ours_{0};    // recent average of rows examined, in eighths
  std::atomic<uint64_t> theirs_{0};  // likewise, the server's
  std::atomic<bool> server_known_{false};
  std::atomic<bool> leave_{false};
  std::atomic<uint32_t> left_{0};  // while the plan examines many more rows than the server
  std::atomic<uint64_t> answered_{0};
  std::atomic<uint64_t> undone_{0};
  std::atomic<bool> planned_anew_{false};
  std::array<std::atomic<uint64_t>, 16> heavy_{};
  std::atomic<uint32_t> next_heavy_{0};
};

}  // namespace postern::sql
