// inbox.h: connections on their way to a worker: the one thing by which other threads reach it.
//
// A worker has one. Any thread puts and wakes the worker then; the worker takes.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "door/connection.h"

namespace postern::door {

class Inbox {
 public:
  /// Takes the connection, unless the worker is gone.
  bool put(std::unique_ptr<Connection> &connection) {
    const std::lock_guard guard(mutex_);
    if (!closed_) connections_.push_back(std::move(connection));
    return !closed_;
  }

  [[nodiscard]] std::vector<std::unique_ptr<Connection>> take() {
    const std::lock_guard guard(mutex_);
    return std::exchange(connections_, {});
  }

  /// Takes no more; returns what nobody will take.
  [[nodiscard]] std::vector<std::unique_ptr<Connection>> close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    return std::exchange(connections_, {});
  }

 private:
  std::mutex mutex_;  // a leaf
  std::vector<std::unique_ptr<Connection>> connections_;
  bool closed_ = false;
};

}  // namespace postern::door
