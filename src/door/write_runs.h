// write_runs.h: WriteRuns, how the runs of a worker's writes went, by which the worker decides where the next is made,
// and whether it waits for more clients first.
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

  /// The answered clients of a run that only read: ops left for other threads wait for nobody here.
  void note_readers(Turn &turn, std::span<const Turn::Slice> readers, int64_t now_ms);
  /// Whether the lane is to do a turn's writes: readers would have to wait, or might for an unknown time. `readers`:
  /// the slices of the turn before the writers'. `others_are_there`: earlier ones are, and order matters.
  bool suit_lane(Turn &turn, size_t readers, bool others_are_there, int64_t now_ms) const;
  /// Whether a commit may keep a worker's clients waiting for an unknown time.
  bool may_stall() const { return engine_.commits_may_wait(); }

  /// Makes a run of the writers by `run()`, and notes how it went.
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
  /// The writes of a turn are made elsewhere, or it has none.
  void note_other_run() { delay_.note_other_run(); }

  /// How long the worker waits for the clients of the last run.
  CommitDelay &delay() { return delay_; }
  bool others_read(int64_t now_ms) const { return recent_readers_.any_but(nullptr, now_ms); }
  /// Whether the connection's writes were in the last run of several.
  bool was_in_last(const Connection &connection) const { return connection.last_run == shared_runs_; }

 private:
  bool is_looked_at(int64_t now_ms);
  void note_sleep(int64_t slept_us);
  void note_shared(std::span<Turn::Slice> writers, int64_t slept_us);

  const Engine &engine_;
  WriteLane *const lane_;
  RecentReaders recent_readers_;
  CommitDelay delay_;
  uint32_t shared_runs_ = 0;  // of several clients
  uint32_t not_looked_at_ = WriteLane::runs_per_look;
};

}  // namespace postern::door
