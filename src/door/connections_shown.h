// connections_shown.h: ConnectionsShown, which shows a worker's number of clients in the process list.
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
  /// `always`: shows the worker even without clients.
  ConnectionsShown(const std::string &name, bool always) : name_(name), always_(always) {}

  /// Called before the worker sleeps, with the number of its connections.
  void show(Executor &executor, uint32_t connections) {
    if (connections == shown_) return;
    shown_ = connections;
    // This runs whenever a lone client comes or goes, so it does without snprintf().
    std::array<char, 100> text;
    char *end = text.data() + name_.copy(text.data(), 60);
    end = std::ranges::copy(Bytes(": "), end).out;
    end = std::to_chars(end, end + 10, connections).ptr;
    end = std::ranges::copy(Bytes(connections == 1 ? " connection" : " connections"), end).out;
    executor.describe({text.data(), static_cast<size_t>(end - text.data())});
  }
  /// Called before a long sleep.
  void hide_if_idle(Executor &executor) const {
    if (shown_ == 0 && !always_) executor.hide();
  }

 private:
  const std::string &name_;  // the worker's
  const bool always_;
  uint32_t shown_ = UINT32_MAX;
};

}  // namespace postern::door
