// write_job.h: WriteJob, a worker's turn in the write lane, with the connections of its writers and of clients that
// have committed and wait for the flush.
//
// One thread or queue has it at a time: its worker, then the lane, then its worker again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/pool.h"
#include "door/connections/connection.h"
#include "door/connections/turn.h"
#include "door/lanes/home.h"

namespace postern::door {

struct WriteJob final : Turn {
  WriteJob() = default;
  WriteJob(const WriteJob &) = delete;
  WriteJob &operator=(const WriteJob &) = delete;
  /// Closes the connections that are still away.
  ~WriteJob() { close(); }

  Home *home = nullptr;
  size_t readers = 0;          ///< number of slices that were answered before it left
  size_t unflushed = 0;        ///< number of slices after them that are done except for a flush
  bool away = false;           ///< the job owns the connections of all other slices
  bool refused = false;        ///< the lane is closed, and has not run it
  int64_t began_us = 0;        ///< when the turn began
  pool::Charge charge;         ///< for its ops, which live until another client's commit ends
  WriteJob *behind = nullptr;  ///< in a WriteJobs

  /// The slices of connections that are away.
  std::span<Slice> clients() { return slices().subspan(readers); }
  /// The slices that have not been run yet.
  std::span<Slice> writers() { return slices().subspan(readers + unflushed); }

  /// Ends the connections that are away.
  void close() {
    if (!away) return;
    away = false;
    for (const Slice &slice : clients()) delete slice.connection;
    clear();
  }
};

/// A queue of jobs, which it owns. It needs no memory.
class WriteJobs {
 public:
  WriteJobs() = default;
  WriteJobs(WriteJobs &&other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  WriteJobs &operator=(WriteJobs &&) = delete;
  ~WriteJobs() {
    while (next() != nullptr) {
    }
  }

  bool empty() const { return first_ == nullptr; }
  void add(std::unique_ptr<WriteJob> job) {
    job->behind = nullptr;
    WriteJob *const added = job.release();
    (last_ != nullptr ? last_->behind : first_) = added;
    last_ = added;
  }
  /// Removes the first one and returns it; nullptr if there is none.
  std::unique_ptr<WriteJob> next() {
    std::unique_ptr<WriteJob> job(first_);
    if (job == nullptr) return nullptr;
    first_ = std::exchange(job->behind, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    return job;
  }
  /// The first one; nullptr if there is none.
  WriteJob *first() const { return first_; }

 private:
  WriteJob *first_ = nullptr;
  WriteJob *last_ = nullptr;
};

}  // namespace postern::door
