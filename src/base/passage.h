// passage.h: Passage, the place of one reply in an output, so that a failure or a restart can take the reply back.
//
// A value owned by its reply, and touched by the thread that runs that reply's batch.
//
//   void done(const Outcome &outcome) override { passage_.begin(); output_.put(answer_); }
//   void restart() override { passage_.take_back(); }
#pragma once

#include "base/output.h"

namespace postern {

class Passage {
 public:
  /// `output` outlives the passage.
  explicit Passage(Output &output) : output_(output) {}

  bool begun() const { return begun_; }
  /// Where the reply began, or would begin now.
  Output::Mark start() const { return begun_ ? start_ : output_.mark(); }
  /// Everything written from here on belongs to it.
  void begin() {
    start_ = output_.mark();
    begun_ = true;
  }
  /// Takes back everything written since begin(), if that was called; begin() may be called again. Returns false if
  /// some bytes may have been sent: the output is broken then and discards further writes.
  bool take_back() {
    if (begun_ && !output_.rewind_or_break(start_)) return false;
    begun_ = false;
    return true;
  }

 private:
  Output &output_;
  Output::Mark start_ = 0;
  bool begun_ = false;
};

}  // namespace postern
