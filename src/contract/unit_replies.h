// unit_replies.h: UnitReplies, which records for an engine how the ops of a unit end. For the thread that runs them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "contract/executor.h"

namespace postern {

/// Stands between the ops of a unit and their replies while an engine runs them, and records each outcome.
///
///     UnitReplies replies(ops);
///     run ops[0]; if (replies.failed(0)) { undo it; replies.fail_all(0, counters); }
class UnitReplies {
 public:
  /// The ops stay where they are as long as this lives. Throws std::bad_alloc.
  explicit UnitReplies(std::span<Op> ops) : ops_(ops), heard_(ops.size()) {
    for (size_t i = 0; i < ops.size(); ++i) {
      heard_[i].reply = ops[i].reply;
      ops[i].reply = &heard_[i];
    }
  }
  ~UnitReplies() {
    for (size_t i = 0; i < ops_.size(); ++i) ops_[i].reply = heard_[i].reply;
  }
  UnitReplies(const UnitReplies &) = delete;
  UnitReplies &operator=(const UnitReplies &) = delete;

  bool failed(size_t at) const { return heard_[at].failure != Failure::none; }
  Failure failure(size_t at) const { return heard_[at].failure; }
  /// Restarts all replies.
  void restart() {
    for (size_t i = heard_.size(); i-- != 0;) heard_[i].restart();
  }
  /// Restarts all replies and then fails them as the op at `at` has failed. All ops are done.
  void fail_all(size_t at, Counters *counters) {
    const Heard first = heard_[at];
    restart();
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (i != at && counters != nullptr) count_failure(*counters, ops_[i], first.failure);
      ops_[i].progress = Progress::done;
      heard_[i].reply->done(first.outcome());
    }
  }

  /// Makes the failure of the op at `at` final: when the unit is run again that op is left out.
  void keep_failure(size_t at) { heard_[at].kept = true; }
  bool failure_kept(size_t at) const { return heard_[at].kept; }
  /// Gives its reply, which was restarted, that failure once more.
  void tell_kept(size_t at) {
    ops_[at].progress = Progress::done;
    heard_[at].reply->done(heard_[at].outcome());
  }

 private:
  struct Heard final : Reply {
    Flow row(Row row) override { return reply->row(row); }
    Flow still_wanted(uint32_t columns) override { return reply->still_wanted(columns); }
    void done(const Outcome &outcome) override {
      failure = outcome.failure;
      if (failure != Failure::none) {
        last = outcome;
        last.rows = last.changed = 0;
        message = outcome.message;
      }
      reply->done(outcome);
    }
    void restart() override {
      if (!kept) failure = Failure::none;
      reply->restart();
    }
    Outcome outcome() const {
      Outcome outcome = last;
      outcome.message = message;
      return outcome;
    }

    Reply *reply = nullptr;
    Failure failure = Failure::none;
    bool kept = false;
    Outcome last;  // the last failure
    std::string message;
  };

  const std::span<Op> ops_;
  std::vector<Heard> heard_;
};

}  // namespace postern
