// connections_shown.h: ConnectionsShown, what the process list says of a worker: how many clients it has.
//
// A worker has one, and its thread alone touches it.
#pragma once

#include <cstdint>
#include <cstdio>
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
    char text[100];
    const int size = std::snprintf(text, sizeof text, "%.60s: %u connection%s", name_.c_str(), connections,
                                   connections == 1 ? "" : "s");
    executor.describe({text, static_cast<size_t>(size)});
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
