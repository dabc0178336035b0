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
  /// An op that was added before, to a batch that is gone.
  void add(Op op) {
    op.connection = connection_;
    ops_.push_back(op);
  }

  std::span<Op> ops() { return ops_; }
  /// The same ops in another order.
  void exchange_ops(std::vector<Op> &ops) { ops_.swap(ops); }
  size_t size() const { return ops_.size(); }

  void clear() {
    ops_.clear();
    arena_.clear();
  }

  /// Forgets the ops from this one on.
  void truncate(size_t size) { ops_.resize(std::min(size, ops_.size())); }

 private:
  std::vector<Op> ops_;
  Arena arena_;
  uint32_t connection_ = 0;
  Identity *identity_ = nullptr;
};

}  // namespace postern
