#include "engine/sql/plans/plan_judge.h"

#include <algorithm>

namespace postern::sql {
namespace {

/// So many rows may always be read.
constexpr uint64_t examined_few = 64;
/// A plan is bad if it reads so many times the rows of the server's own.
constexpr uint64_t times_more = 4;
/// One in so many executions that read more than a few rows is left to the server, to notice if it reads fewer by now.
constexpr uint64_t compared_every = 32;
/// Statements left to the server before the verdict.
constexpr uint32_t left_min = 12;
/// If more than one in so many is undone, that is too many.
constexpr uint64_t one_in_too_many = 8;
constexpr uint64_t undone_min = 8;
constexpr uint64_t eighths = 8;

void add_to_average(std::atomic<uint64_t> &average, uint64_t examined) {
  const uint64_t now = average.load(std::memory_order_relaxed);
  average.store(now - now / eighths + examined, std::memory_order_relaxed);
}

}  // namespace

void PlanJudge::note_server(uint64_t examined) {
  if (server_known_.exchange(true, std::memory_order_relaxed)) add_to_average(theirs_, examined);
  else theirs_.store(examined * eighths, std::memory_order_relaxed);
}

PlanJudge::Verdict PlanJudge::note_answered(uint64_t examined) {
  const uint64_t answered = answered_.fetch_add(1, std::memory_order_relaxed);
  add_to_average(ours_, examined);
  if (examined <= examined_few) return Verdict::good;
  if (answered % compared_every == 0) leave_.store(true, std::memory_order_relaxed);
  const uint64_t ours = ours_.load(std::memory_order_relaxed);
  if (ours <= examined_few * eighths || ours <= times_more * (theirs_.load(std::memory_order_relaxed) + eighths)) {
    left_.store(0, std::memory_order_relaxed);
    return Verdict::good;
  }
  if (left_.fetch_add(1, std::memory_order_relaxed) < left_min) {
    leave_.store(true, std::memory_order_relaxed);
    return Verdict::good;
  }
  left_.store(0, std::memory_order_relaxed);
  return give_up();
}

PlanJudge::Verdict PlanJudge::note_undone() {
  const uint64_t undone = undone_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (undone < undone_min || undone * one_in_too_many < answered_.load(std::memory_order_relaxed)) return Verdict::good;
  undone_.store(0, std::memory_order_relaxed);
  answered_.store(0, std::memory_order_relaxed);
  return give_up();
}

/// The values by which it was planned may have been unusual.
PlanJudge::Verdict PlanJudge::give_up() {
  return planned_anew_.exchange(true, std::memory_order_relaxed) ? Verdict::give_back : Verdict::plan_anew;
}

bool PlanJudge::is_heavy(uint64_t values) const {
  return next_heavy_.load(std::memory_order_relaxed) != 0 && std::ranges::any_of(heavy_, [values](const auto &one) {
           return one.load(std::memory_order_relaxed) == values;
         });
}

void PlanJudge::note_heavy(uint64_t values) {
  heavy_[next_heavy_.fetch_add(1, std::memory_order_relaxed) % heavy_.size()].store(values, std::memory_order_relaxed);
}

}  // namespace postern::sql
