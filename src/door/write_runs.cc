#include "door/write_runs.h"

namespace postern::door {

void WriteRuns::note_readers(Turn &turn, std::span<const Turn::Slice> readers, int64_t now_ms) {
  int noted = 0;
  for (const Turn::Slice &slice : readers) {
    if (turn.last_of(slice)->progress != Progress::done) continue;
    recent_readers_.note(*slice.connection, now_ms);
    if (++noted == 2) return;
  }
}

bool WriteRuns::suit_lane(Turn &turn, size_t readers, bool others_are_there, int64_t now_ms) const {
  if (lane_ == nullptr) return false;
  if (others_are_there || engine_.commits_may_wait()) return true;
  const std::span<Turn::Slice> all = turn.slices();
  return lane_->pays() && recent_readers_.any_but(all.size() - readers == 1 ? all.back().connection : nullptr, now_ms);
}

bool WriteRuns::is_looked_at(int64_t now_ms) {
  return lane_ != nullptr && ++not_looked_at_ >= WriteLane::runs_per_look && others_read(now_ms);
}

void WriteRuns::note_sleep(int64_t slept_us) {
  not_looked_at_ = 0;
  lane_->note_run(slept_us);
}

void WriteRuns::note_shared(std::span<Turn::Slice> writers, int64_t slept_us) {
  ++shared_runs_;
  for (const Turn::Slice &slice : writers) slice.connection->last_run = shared_runs_;
  delay_.note_run(writers.size(), slept_us);
}

}  // namespace postern::door
