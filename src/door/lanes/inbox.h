// inbox.h: Inbox, connections and committed turns on their way to a worker: the only way by which other threads reach
// it.
//
// A worker has one. Any thread puts a connection in and then wakes the worker; the worker takes them out. They are
// linked by Connection::newer, so this needs no memory.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "door/connections/connection.h"
#include "door/lanes/write_job.h"

namespace postern::door {

/// A queue of connections, which it owns.
class Arrivals {
 public:
  Arrivals() = default;
  Arrivals(Arrivals &&other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  Arrivals &operator=(Arrivals &&) = delete;
  ~Arrivals() {
    while (next() != nullptr) {
    }
  }

  void add(std::unique_ptr<Connection> connection) {
    connection->newer = nullptr;
    Connection *const added = connection.release();
    (last_ != nullptr ? last_->newer : first_) = added;
    last_ = added;
  }
  /// Removes the first one and returns it; nullptr if there is none.
  std::unique_ptr<Connection> next() {
    std::unique_ptr<Connection> connection(first_);
    if (connection == nullptr) return nullptr;
    first_ = std::exchange(connection->newer, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    return connection;
  }

 private:
  Connection *first_ = nullptr;
  Connection *last_ = nullptr;
};

class Inbox {
 public:
  /// Takes the connection, unless the worker is gone.
  bool put(std::unique_ptr<Connection> &connection) {
    const std::lock_guard guard(mutex_);
    if (!closed_) connections_.add(std::move(connection));
    return !closed_;
  }

  /// Takes the job, unless the worker is gone.
  bool put(std::unique_ptr<WriteJob> &job) {
    const std::lock_guard guard(mutex_);
    if (!closed_) writes_.add(std::move(job));
    return !closed_;
  }

  [[nodiscard]] Arrivals take() {
    const std::lock_guard guard(mutex_);
    return std::move(connections_);
  }

  [[nodiscard]] WriteJobs take_writes() {
    const std::lock_guard guard(mutex_);
    return std::move(writes_);
  }

  /// Closes the inbox; returns the connections that the worker has not taken.
  [[nodiscard]] Arrivals close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    return std::move(connections_);
  }

 private:
  std::mutex mutex_;  // a leaf
  Arrivals connections_;
  WriteJobs writes_;
  bool closed_ = false;
};

}  // namespace postern::door
