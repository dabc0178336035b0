// plan_judge.h: PlanJudge decides whether one plan for all values of a form is a good one: by the rows that it examines
// beside those that the server examines with plans for single values, and by how its executions end.
//
// Any thread. Threads may lose some of each other's notes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace postern::sql {

class PlanJudge {
 public:
  /// True if the server is to execute the statement, so that its examined rows are known.
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

  /// Values, by a hash, for which a plan read too much. Few are remembered.
  bool is_heavy(uint64_t values) const;
  void note_heavy(uint64_t values);

 private:
  Verdict give_up();

  std::atomic<uint64_t> ours_{0};    // rows examined, the average of late, in eighths
  std::atomic<uint64_t> theirs_{0};  // likewise, the server's
  std::atomic<bool> server_known_{false};
  std::atomic<bool> leave_{false};
  std::atomic<uint32_t> left_{0};  // while ours are many more than theirs
  std::atomic<uint64_t> answered_{0};
  std::atomic<uint64_t> undone_{0};
  std::atomic<bool> planned_anew_{false};
  std::array<std::atomic<uint64_t>, 16> heavy_{};
  std::atomic<uint32_t> next_heavy_{0};
};

}  // namespace postern::sql
