// stream_valve.h: StreamValve, through which a long reply leaves while it is still being written.
//
// A scan thread has one while it runs a job.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/counters.h"
#include "base/limits.h"
#include "base/output.h"
#include "door/connections/connection.h"

namespace postern::door {

class SlowLane;

/// Sends the rows of a stream while the engine reads on, and ends the stream when its client is gone.
class StreamValve final : public Valve {
 public:
  /// A flush begins above so many unsent bytes; below them a parked client counts as reading again.
  static constexpr size_t flush_bytes = size_t{64} << 10;

  StreamValve(SlowLane &lane, Connection &connection, const std::atomic<bool> &stop, Counters &counters)
      : lane_(lane), connection_(connection), stop_(stop), counters_(counters) {}

  Flow flow(Output &output) override;
  Flow still_wanted(Output &output) override;
  bool doubts_reader() const override { return doubtful_; }

  /// Whether the job has used up its time and others wait for the thread.
  bool time_is_up(int64_t now_ms);
  bool time_was_up() const { return time_is_up_; }

  /// Sends until nothing is left. False if that takes longer than `patience_ms`, or the connection or its thread ends.
  bool flush(int patience_ms);
  /// Called before a paused reply continues: sends as much of it as the client takes at once. Otherwise a whole row
  /// would be written each time a slow client reads a little.
  void resume();
  bool stalled() const { return stalled_; }

 private:
  void begin_slice(int64_t now_ms);
  bool reader_is_there(Output &output);

  SlowLane &lane_;
  Connection &connection_;
  const std::atomic<bool> &stop_;
  Counters &counters_;
  const int64_t begin_ms_ = clock_ms();
  int64_t looked_ms_ = 0;  // 0: no row yet
  int64_t slice_ms_ = limits::slice_ms;
  int64_t slice_end_ms_ = 0;
  int64_t presence_due_ms_ = begin_ms_ + limits::presence_ms;
  bool time_is_up_ = false;
  bool doubtful_ = false;
  bool stalled_ = false;
};

}  // namespace postern::door
