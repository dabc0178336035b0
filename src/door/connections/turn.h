// turn.h: Turn, the requests of one turn of a worker: the batch, and each connection's slice of it.
//
// A worker has one, and its thread alone touches it. Slices are valid until clear().
//
//   turn.clear();  for each connection: {slice = turn.begin(...); collect into turn.batch(); turn.add(slice);}
//   readers = turn.put_readers_first();  turn.run(executor, slices, watcher) for those, and for the others
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.h"
#include "contract/batch.h"
#include "contract/executor.h"
#include "door/connections/connection.h"

namespace postern::door {

class Turn {
 public:
  /// The ops of one connection in the batch.
  struct Slice {
    Connection *connection;
    size_t first;
    size_t count;
    Output::Mark mark;         // where their replies begin
    Arena::Mark arena_from{};  // where its memory begins
    Arena::Mark arena_to{};
    bool sent = false;            // answered and sent while the rest of the run went on
    bool unflushed = false;       // it has an op that is Op::unflushed: nothing more of it may be sent
    size_t bytes_sent_ahead = 0;  // of replies that the connection already had in this turn
  };

  void clear() {
    batch_.clear();
    slices_.clear();
  }
  Batch &batch() { return batch_; }
  bool empty() const { return batch_.size() == 0; }
  /// How many ops may still be added.
  size_t room() const { return limits::ops_per_batch_max - std::min<size_t>(batch_.size(), limits::ops_per_batch_max); }

  /// Ops added from now on belong to `connection`, number `number` of this turn.
  Slice begin(Connection &connection, uint32_t number) {
    batch_.begin(number);
    return {&connection, batch_.size(), 0, connection.output.mark(), batch_.arena().mark()};
  }
  void add(Slice slice) {
    slice.count = batch_.size() - slice.first;
    slice.arena_to = batch_.arena().mark();
    if (slice.count != 0) slices_.push_back(slice);
  }
  /// Removes everything added to the batch since begin().
  void forget(const Slice &slice) { batch_.truncate(slice.first); }

  /// Whether any op added since begin() needs the engine.
  bool asks_engine(const Slice &slice) {
    const std::span<const Op> ops = batch_.ops().subspan(slice.first);
    return std::any_of(ops.begin(), ops.end(), [](const Op &op) { return op.verb != Verb::answer; });
  }

  std::span<Slice> slices() { return slices_; }
  /// Whether all it has is a command without a plan, which reads and writes nothing by this worker's own tables.
  bool is_one_command() const;
  /// The ops of neighbouring slices.
  std::span<Op> ops_of_all(std::span<const Slice> slices) {
    const size_t first = slices.front().first;
    return batch_.ops().subspan(first, slices.back().first + slices.back().count - first);
  }
  std::span<Op> ops_of(const Slice &slice) { return batch_.ops().subspan(slice.first, slice.count); }
  /// The slice's ops from the first that is not done.
  std::span<Op> unfinished(const Slice &slice) {
    const std::span<Op> ops = ops_of(slice);
    size_t done = 0;
    while (done != ops.size() && ops[done].progress == Progress::done) ++done;
    return ops.subspan(done);
  }

  /// Adds the ops that an earlier turn put off for the connection; none if the batch has other ops and too little room.
  /// In an empty batch they may exceed the bound, because a unit has none.
  void add_put_off(const PutOff &left);
  /// Keeps the remaining ops of a slice, with their memory, as the connection's `put_off`: in `spare`, if that is one
  /// and the connection has none. Throws std::bad_alloc.
  void put_off(const Slice &slice, std::span<const Op> left, std::unique_ptr<PutOff> &spare);

  /// The units of neighbouring ops, with their positions among them. Valid until the next call.
  std::span<const Unit> units_of(std::span<const Op> ops) {
    units_.clear();
    if (batch_.units().empty()) return {};
    add_units_within(batch_.units(), static_cast<size_t>(ops.data() - batch_.ops().data()), ops.size(), units_);
    return units_;
  }

  /// Adds the ops of a slice of another turn, which lends them: take_progress() copies their progress and rows back.
  void add_copy(Turn &from, const Slice &slice);
  void take_progress(const Slice &slice, std::span<const Op> copies);

  /// Moves the connections that only read before those that write and wait for the disk, and returns their number.
  /// Slices and ops move. Returns 0, with nothing moved, if memory runs out.
  size_t put_readers_first();
  /// Moves the slices that wait for a flush after the others, and returns the number of the others. The slices were
  /// run.
  size_t put_unflushed_last(std::span<Slice> slices);

  /// Runs neighbouring slices: their ops are one run, and one transaction. `watcher`, if any, is called for every op.
  /// `answers_may_wait`: see Run. The requests of a lost run that may not be repeated fail with its failure, and are
  /// counted. Throws std::bad_alloc before anything is run.
  void run(Executor &executor, std::span<Slice> slices, Watcher *watcher, Counters &counters,
           bool answers_may_wait = false);

  // During run().

  /// The slice of an op that was just done. Called for the ops in order.
  Slice &slice_running(const Op &op) {
    const auto at = static_cast<size_t>(&op - batch_.ops().data());
    while (at >= running_->first + running_->count) ++running_;
    return *running_;
  }
  const Op *last_of(const Slice &slice) { return &batch_.ops()[slice.first + slice.count - 1]; }
  /// Whether each connection's replies are sent as soon as they are complete, however short.
  bool sends_early() const { return sends_early_; }
  /// The slice loses its ops up to `op`, and its replies begin where its connection's output ends now.
  void forget_until(Slice &slice, const Op &op) {
    const size_t next = static_cast<size_t>(&op - batch_.ops().data()) + 1;
    slice.count -= next - slice.first;
    slice.first = next;
    slice.mark = slice.connection->output.mark();
  }

 private:
  void run_again(Executor &executor, std::span<const Slice> slices, Counters &counters);
  void refuse(const Slice &slice, const Settlement &settlement, Counters &counters);
  void rewind_replies(const Slice &slice);
  bool writes_anything(const Slice &slice);

  Batch batch_;
  std::vector<Slice> slices_;
  Slice *running_ = nullptr;    // the slice answered last, or the first one
  bool sends_early_ = false;    // in this run
  std::vector<Unit> units_;     // scratch of units_of()
  std::vector<Slice> writers_;  // scratch of put_readers_first(), as are the next two
  std::vector<Op> reordered_;
  std::vector<Unit> reordered_units_;
};

}  // namespace postern::door
