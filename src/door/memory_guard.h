// memory_guard.h: what becomes of a worker's connections when memory runs out.
//
// Where it is known for which connection memory ran out, that one dies and no other. Elsewhere a turn's progress is
// unknown, and its worker closes all of them. A worker has one of these, and its thread alone touches it.
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

  /// Does a step on behalf of `connection`, which dies if memory runs out.
  template <class Step>
  void on_behalf_of(Connection &connection, Step step) {
    try {
      step();
    } catch (const std::bad_alloc &) {
      counters_.add(Failure::out_of_memory);
      connection.die();
    }
  }

  /// Does a whole turn. False if memory ran out on behalf of no connection.
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
