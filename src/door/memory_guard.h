// memory_guard.h: MemoryGuard, which closes a worker's connections when memory runs out.
//
// If memory runs out while the worker serves a known connection, only that one dies. Otherwise the turn's progress is
// unknown, and the worker closes all of them. A worker has one of these, and its thread alone touches it.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "base/counters.h"
#include "base/log.h"
#include "door/connections/connection.h"

namespace postern::door {

class MemoryGuard {
 public:
  /// Everything outlives it.
  MemoryGuard(const std::string &name, Counters &counters) : name_(name), counters_(counters) {}
  MemoryGuard(const MemoryGuard &) = delete;
  MemoryGuard &operator=(const MemoryGuard &) = delete;

  /// Runs a step for `connection`, which dies if memory runs out.
  template <class Step>
  void on_behalf_of(Connection &connection, Step step) {
    try {
      step();
    } catch (const std::bad_alloc &) {
      counters_.add(Failure::out_of_memory);
      connection.die();
    }
  }

  /// Runs a whole turn. False if memory ran out outside on_behalf_of().
  template <class Turn>
  [[nodiscard]] bool take_turn(Turn turn) {
    try {
      turn();
      return true;
    } catch (const std::bad_alloc &) {
      note_turn_broken_off();
      return false;
    }
  }

 private:
  void note_turn_broken_off() {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed)) log::error("%s: out of memory, closing its connections", name_.c_str());
    counters_.add(Failure::out_of_memory);
  }

  const std::string &name_;
  Counters &counters_;
};

}  // namespace postern::door
