// batch.h: the ops of all ready connections of one turn, in order, and the arena they live in.
//
// Owned and touched by one worker. clear() ends the life of everything in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "contract/op.h"
#include "contract/unit.h"

namespace postern {

class Batch {
 public:
  Arena &arena() { return arena_; }

  /// The ops added from here on belong to `connection`.
  void begin(uint32_t connection) {
    connection_ = connection;
    identity_ = nullptr;
  }
  /// The ops added from here on are on behalf of `identity`, until begin().
  void act_for(Identity *identity) { identity_ = identity; }
  /// One more op, to be filled in at once. Valid until the next one is added.
  Op &add() {
    Op &op = ops_.emplace_back();
    op.connection = connection_;
    op.identity = identity_;
    return op;
  }
  /// Adds an op of an earlier batch again.
  void add(Op op) {
    op.connection = connection_;
    ops_.push_back(op);
  }

  /// The ops added from here on are one unit, until end_unit(). A single op makes no unit.
  void begin_unit(bool atomic) { unit_ = {static_cast<uint32_t>(ops_.size()), 0, atomic}; }
  void end_unit() {
    unit_.count = static_cast<uint32_t>(ops_.size()) - unit_.first;
    if (unit_.count > 1) units_.push_back(unit_);
  }
  /// Adds a unit of ops that were added before.
  void add(Unit unit) { units_.push_back(unit); }

  std::span<Op> ops() { return ops_; }
  std::span<const Op> ops() const { return ops_; }
  /// In order.
  std::span<const Unit> units() const { return units_; }
  /// Replaces the ops and units by the same ones in another order.
  void exchange(std::vector<Op> &ops, std::vector<Unit> &units) {
    ops_.swap(ops);
    units_.swap(units);
  }
  size_t size() const { return ops_.size(); }

  void clear() {
    ops_.clear();
    units_.clear();
    arena_.clear();
  }

  /// Forgets the ops from this one on.
  void truncate(size_t size) {
    ops_.resize(std::min(size, ops_.size()));
    std::erase_if(units_, [&](const Unit &unit) { return unit.first + unit.count > ops_.size(); });
  }

 private:
  std::vector<Op> ops_;
  std::vector<Unit> units_;
  Unit unit_;  // being added
  Arena arena_;
  uint32_t connection_ = 0;
  Identity *identity_ = nullptr;
};

}  // namespace postern
