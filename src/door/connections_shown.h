// connections_shown.h: ConnectionsShown, what the process list says of a worker: how many clients it has.
//
// A worker has one, and its thread alone touches it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "contract/executor.h"

namespace postern::door {

class ConnectionsShown {
 public:
  /// `always`: also without clients.
  ConnectionsShown(const std::string &name, bool always) : name_(name), always_(always) {}

  /// To be called before the worker sleeps, with the number of its connections.
  void show(Executor &executor, uint32_t connections) {
    if (connections == shown_) return;
    shown_ = connections;
    // For each client that comes or goes alone: so without snprintf().
    std::array<char, 100> text;
    char *end = text.data() + name_.copy(text.data(), 60);
    end = std::ranges::copy(Bytes(": "), end).out;
    end = std::to_chars(end, end + 10, connections).ptr;
    end = std::ranges::copy(Bytes(connections == 1 ? " connection" : " connections"), end).out;
    executor.describe({text.data(), static_cast<size_t>(end - text.data())});
  }
  /// It sleeps for long.
  void hide_if_idle(Executor &executor) const {
    if (shown_ == 0 && !always_) executor.hide();
  }

 private:
  const std::string &name_;  // the worker's
  const bool always_;
  uint32_t shown_ = UINT32_MAX;
};

}  // namespace postern::door
