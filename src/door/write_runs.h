// write_runs.h: WriteRuns, which decides from a worker's past runs of writes where the next one is made, and whether
// the worker waits for more clients first.
//
// A worker has one, and its thread alone touches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "contract/executor.h"
#include "door/connections/commit_delay.h"
#include "door/connections/turn.h"
#include "door/lanes/write_lane.h"
#include "door/recent_readers.h"

namespace postern::door {

class WriteRuns {
 public:
  /// Both outlive it. `lane`: nullptr if there is none.
  WriteRuns(const Engine &engine, WriteLane *lane) : engine_(engine), lane_(lane) {}

  /// Notes the answered clients of a run that only read; ops left for other threads do not count.
  void note_readers(Turn &turn, std::span<const Turn::Slice> readers, int64_t now_ms) {
    int noted = 0;
    for (const Turn::Slice &slice : readers) {
      if (turn.last_of(slice)->progress != Progress::done) continue;
      recent_readers_.note(*slice.connection, now_ms);
      if (++noted == 2) return;
    }
  }
  /// Whether the lane should do a turn's writes because readers would have to wait, or might wait without a bound.
  /// `readers`: the number of slices before the writers'. `others_are_there`: earlier writes are in the lane, and order
  /// matters.
  bool suit_lane(Turn &turn, size_t readers, bool others_are_there, int64_t now_ms) const {
    if (lane_ == nullptr) return false;
    if (others_are_there || engine_.commits_may_wait()) return true;
    const std::span<Turn::Slice> all = turn.slices();
    return lane_->pays() &&
           recent_readers_.any_but(all.size() - readers == 1 ? all.back().connection : nullptr, now_ms);
  }
  /// Whether a commit may keep a worker's clients waiting without a bound.
  bool may_stall() const { return engine_.commits_may_wait(); }

  /// Calls `run()` for the writers, and notes its sleep.
  template <class Run>
  void make(std::span<Turn::Slice> writers, int64_t now_ms, Run run) {
    const bool shared = writers.size() > 1;
    const int64_t began_us = shared ? off_processor_us() : 0;
    const bool looks = is_looked_at(now_ms);
    Sleep sleep;
    if (looks) sleep.begin();
    run();
    if (looks) note_sleep(sleep.end());
    if (shared) note_shared(writers, off_processor_us() - began_us);
    else delay_.note_other_run();
  }
  /// The turn's writes are made elsewhere, or it has none.
  void note_other_run() { delay_.note_other_run(); }

  /// The wait for the clients of the last run.
  CommitDelay &delay() { return delay_; }
  bool others_read(int64_t now_ms) const { return recent_readers_.any_but(nullptr, now_ms); }
  /// Whether the connection's writes were in the last shared run.
  bool was_in_last(const Connection &connection) const { return connection.last_run == shared_runs_; }

 private:
  bool is_looked_at(int64_t now_ms) {
    return lane_ != nullptr && ++not_looked_at_ >= WriteLane::runs_per_look && others_read(now_ms);
  }
  void note_sleep(int64_t slept_us) {
    not_looked_at_ = 0;
    lane_->note_run(slept_us);
  }
  void note_shared(std::span<Turn::Slice> writers, int64_t slept_us) {
    ++shared_runs_;
    for (const Turn::Slice &slice : writers) slice.connection->last_run = shared_runs_;
    delay_.note_run(writers.size(), slept_us);
  }

  const Engine &engine_;
  WriteLane *const lane_;
  RecentReaders recent_readers_;
  CommitDelay delay_;
  uint32_t shared_runs_ = 0;  // runs of several clients
  uint32_t not_looked_at_ = WriteLane::runs_per_look;
};

}  // namespace postern::door
