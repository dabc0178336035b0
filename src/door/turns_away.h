// turns_away.h: TurnsAway, the turns of a worker that are in the write lane, and spare turns to continue with.
//
// A worker has one, and its thread alone touches it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "base/pool.h"
#include "door/lanes/write_job.h"

namespace postern::door {

class TurnsAway {
 public:
  bool any() const { return away_ != 0; }

  /// Replaces `turn` by a fresh one and returns the old one as a job, with its clients except the readers. nullptr: out
  /// of memory, and nothing has happened.
  std::unique_ptr<WriteJob> send(std::unique_ptr<WriteJob> &turn, Home &home, size_t readers, size_t unflushed) {
    std::unique_ptr<WriteJob> next = spare_.next();
    if (next == nullptr) next.reset(new (std::nothrow) WriteJob());
    else --spare_count_;
    if (next == nullptr || !turn->charge.add(turn->batch().arena().bytes())) return nullptr;
    std::unique_ptr<WriteJob> job = std::exchange(turn, std::move(next));
    job->home = &home;
    job->readers = readers;
    job->unflushed = unflushed;
    job->away = true;
    ++away_;
    return job;
  }
  /// A job has come home. The worker has its connections again.
  void come_home(WriteJob &job) {
    job.away = false;
    --away_;
  }
  /// Keeps a settled job as a spare turn.
  void put_by(std::unique_ptr<WriteJob> job) {
    job->clear();
    job->refused = false;
    job->charge = pool::Charge();
    if (spare_count_ == spare_max) return;
    ++spare_count_;
    spare_.add(std::move(job));
  }

 private:
  static constexpr size_t spare_max = 4;

  size_t away_ = 0;
  WriteJobs spare_;
  size_t spare_count_ = 0;
};

}  // namespace postern::door
