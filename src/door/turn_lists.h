// turn_lists.h: TurnLists, which of a worker's connections are in this turn, which begin the next one, and which are
// dead.
//
// A worker has one of these, and its thread alone touches it; it owns no connection. Each connection is in a list at
// most once, so no list outgrows the room that make_room_for() has reserved. Few of thousands are in a turn, and room
// that was never used takes no memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/page_allocator.h"
#include "door/connections/connection.h"

namespace postern::door {

class TurnLists {
 public:
  using List = std::vector<Connection *, PageAllocator<Connection *>>;

  /// Makes room for so many connections in each list. Throws std::bad_alloc.
  void make_room_for(size_t count) {
    for (List *const list : all())
      if (list->capacity() < count) list->reserve(std::max<size_t>(2 * count, 64));
  }
  /// Whether one more connection can be added to this turn.
  bool has_room() const { return this_turn_.size() < this_turn_.capacity(); }

  /// The connections of this turn. Valid until one is added or removed.
  const List &this_turn() const { return this_turn_; }
  size_t next_turn_size() const { return next_turn_.size(); }

  void add_to_this_turn(Connection &connection) {
    if (connection.in_this_turn) return;
    connection.in_this_turn = true;
    this_turn_.push_back(&connection);
  }
  void add_to_next_turn(Connection &connection) {
    if (connection.in_next_turn) return;
    connection.in_next_turn = true;
    next_turn_.push_back(&connection);
  }
  /// Removes a connection that leaves its worker.
  void remove(Connection &connection) {
    if (connection.in_this_turn) std::erase(this_turn_, &connection);
    if (connection.in_next_turn) std::erase(next_turn_, &connection);
    connection.in_this_turn = connection.in_next_turn = false;
  }

  /// Visits the connections that begin this turn; each is then in the turn, and may be added to the next one again.
  template <class Visit>
  void begin_turn(Visit visit) {
    resumed_.swap(next_turn_);
    for (Connection *const connection : resumed_) {
      connection->in_next_turn = false;
      visit(*connection);
      add_to_this_turn(*connection);
    }
    resumed_.clear();
  }
  void end_turn() {
    for (Connection *const connection : this_turn_) connection->in_this_turn = false;
    this_turn_.clear();
  }

  /// Adds a dead connection, to be closed at the end of the turn. Called once.
  void add_dead(Connection &connection) { dead_.push_back(&connection); }
  /// Visits the dead connections, and forgets them.
  template <class Visit>
  void visit_dead(Visit visit) {
    for (Connection *const connection : dead_) visit(*connection);
    dead_.clear();
  }

  /// Forgets all connections in all lists; they are about to be closed, or away.
  void clear() {
    for (Connection *const connection : next_turn_) connection->in_next_turn = false;
    for (Connection *const connection : this_turn_) connection->in_this_turn = false;
    for (List *const list : all()) list->clear();
  }

 private:
  std::array<List *, 4> all() { return {&this_turn_, &next_turn_, &resumed_, &dead_}; }

  List this_turn_;
  List next_turn_;
  List resumed_;  // from the turn before; empty outside begin_turn()
  List dead_;
};

}  // namespace postern::door
