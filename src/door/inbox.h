// inbox.h: connections on their way to a worker: the one thing by which other threads reach it.
//
// A worker has one. Any thread puts and wakes the worker then; the worker takes. Nobody on the way needs memory that
// may not be there: they are linked by Connection::newer.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "door/connection.h"

namespace postern::door {

/// Connections in a row. Owns them.
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
  /// The first of them, which leaves the row; nullptr if there is none.
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

  [[nodiscard]] Arrivals take() {
    const std::lock_guard guard(mutex_);
    return std::move(connections_);
  }

  /// Takes no more; returns what nobody will take.
  [[nodiscard]] Arrivals close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    return std::move(connections_);
  }

 private:
  std::mutex mutex_;  // a leaf
  Arrivals connections_;
  bool closed_ = false;
};

}  // namespace postern::door
