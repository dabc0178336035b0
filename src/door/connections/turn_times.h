// turn_times.h: TurnTimes, which measures some turns of a worker, and charges their time to the forms of the statements
// answered in them (contract/form_times.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "contract/form_times.h"
#include "contract/op.h"
#include "contract/server_session.h"

namespace postern::door {

/// Owned by a worker, and used within a turn on one thread.
class TurnTimes {
 public:
  /// Called when the first statement comes. A worker without statements measures nothing.
  void switch_on() { on_ = true; }
  bool is_on() const { return on_; }
  /// Whether the turn under way is measured.
  bool measures() const { return measures_; }
  /// The turn's events have come.
  void begin() {
    if (!on_) return;
    scheduled_ = sampler_.chooses();
    measures_ = scheduled_ || wanted_;
    wanted_ = false;
    if (!measures_) return;
    count_ = answered_ = 0;
    begun_ns_ = processor_ns();
  }
  /// The ops are about to be run. If one is a statement of a rarely measured form, the next turn is measured.
  void expect(std::span<const Op> ops) {
    if (ops.front().verb != Verb::statement) return;
    for (const Op &op : ops) {
      if (op.verb != Verb::statement || op.statement->times == nullptr) continue;
      const std::shared_ptr<FormTimes> &times = *op.statement->times;
      if (times->wants_turns()) {
        times->note_wanted();
        wanted_ = true;
      }
      if (measures_ && count_ < expected_.size()) expected_[count_++] = {&op, times};
    }
  }
  /// They were run, on this thread.
  void note(std::span<const Op> ops) {
    if (!measures_) return;
    for (const Op &op : ops) answered_ += op.progress == Progress::done ? 1 : 0;
    for (size_t i = 0; i < count_; ++i) {
      Expected &one = expected_[i];
      if (one.op == nullptr) continue;
      if (one.op->progress == Progress::done) one.times->note_answered();
      else one.times = nullptr;
      one.op = nullptr;
    }
  }
  /// All answers are sent.
  void end() {
    if (!measures_ || count_ == 0) return;
    const uint64_t each_ns = answered_ != 0 ? (processor_ns() - begun_ns_) / answered_ : 0;
    for (size_t i = 0; i < count_; ++i) {
      const std::shared_ptr<FormTimes> times = std::move(expected_[i].times);
      if (times == nullptr || answered_ == 0) continue;
      if (times->workers().wants_all()) times->add_by_worker(1, each_ns);
      else if (scheduled_) times->add_by_worker(FormTimes::one_in, each_ns);
    }
    count_ = 0;
  }

 private:
  struct Expected {
    const Op *op = nullptr;  // nullptr: it was run
    std::shared_ptr<FormTimes> times{};
  };

  Sampler sampler_;
  bool on_ = false;
  bool wanted_ = false;
  bool scheduled_ = false;
  bool measures_ = false;
  uint64_t begun_ns_ = 0;
  uint64_t answered_ = 0;
  size_t count_ = 0;
  std::array<Expected, 64> expected_;
};

}  // namespace postern::door
