#include "door/lanes/stream_valve.h"

#include <poll.h>

#include <algorithm>

#include "door/lanes/slow_lane.h"

namespace postern::door {

Flow StreamValve::flow(Output &output) {
  if (stop_.load(std::memory_order_relaxed)) return Flow::pause;
  if (output.pending_bytes() < flush_bytes) return Flow::more;
  if (looked_ms_ == 0) begin_slice(clock_ms());
  if (!flush(limits::client_stall_ms_max)) return Flow::pause;
  // With large rows and a slow client it may take long until the engine calls still_wanted() again.
  const int64_t now_ms = clock_ms();
  if (now_ms - looked_ms_ < slice_ms_) return Flow::more;
  time_is_up(now_ms);
  return Flow::pause;
}

Flow StreamValve::still_wanted(Output &output) {
  if (stop_.load(std::memory_order_relaxed)) return Flow::pause;
  const int64_t now_ms = clock_ms();
  if (time_is_up(now_ms)) return Flow::pause;
  looked_ms_ = now_ms;
  if (now_ms < presence_due_ms_) return Flow::more;
  presence_due_ms_ = now_ms + limits::presence_ms;
  return reader_is_there(output) ? Flow::more : Flow::pause;
}

bool StreamValve::time_is_up(int64_t now_ms) {
  if (looked_ms_ == 0) begin_slice(now_ms);
  if (now_ms < slice_end_ms_) return false;
  if (lane_.others_wait(now_ms)) return time_is_up_ = true;
  slice_end_ms_ = now_ms + limits::slice_ms / 2;
  return false;
}

bool StreamValve::flush(int patience_ms) {
  Output &output = connection_.output;
  output.release();
  const int64_t until_ms = clock_ms() + patience_ms;
  while (output.pending_bytes() != 0) {
    if (stop_.load(std::memory_order_relaxed) || output.broken()) return false;
    const net::Transfer put = connection_.channel.send(output);
    counters_.add(Counter::sends);
    counters_.add(Counter::bytes_sent, put.bytes);
    connection_.listed.note_sent(put.bytes);
    if (put.bytes != 0) connection_.listed.note_active(clock_ms());
    if (put.result == net::Transfer::Result::failed) {
      connection_.die();
      return false;
    }
    if (put.result == net::Transfer::Result::some) continue;
    const int64_t left_ms = until_ms - clock_ms();
    if (left_ms <= 0) {
      stalled_ = true;
      return false;
    }
    const net::Wishes wishes = connection_.channel.wishes();
    const short events = wishes.readable_to_send ? POLLIN : POLLOUT;
    pollfd wanted{.fd = connection_.channel.fd(), .events = events, .revents = 0};
    ::poll(&wanted, 1, static_cast<int>(left_ms));
  }
  return true;
}

void StreamValve::resume() {
  if (connection_.output.pending_bytes() < flush_bytes) return;
  flush(0);
  if (connection_.output.pending_bytes() < flush_bytes) stalled_ = false;
}

/// The time counts from the first row. A scan that took long to resume gets as long to continue, otherwise it might
/// never advance.
void StreamValve::begin_slice(int64_t now_ms) {
  looked_ms_ = now_ms;
  slice_ms_ = std::max<int64_t>(limits::slice_ms, now_ms - begin_ms_);
  slice_end_ms_ = now_ms + slice_ms_;
}

bool StreamValve::reader_is_there(Output &output) {
  switch (connection_.channel.presence()) {
    case net::Presence::there: return true;
    case net::Presence::gone: connection_.die(); return false;
    case net::Presence::ended: break;
  }
  // Only sending shows whether a client is dead or waits for answers.
  doubtful_ = true;
  if (output.pending_bytes() != 0) flush(0);
  return !stalled_ && !connection_.is_dead();
}

}  // namespace postern::door
