// output.h: one connection's outgoing bytes.
//
// Replies are written after a mark and may be taken back (rewind) until they are released; only released bytes may be
// sent. Positions count every byte since the connection began, so a mark stays meaningful while earlier bytes are sent.
// Owned by its connection, touched by one thread at a time. reserve() is valid until the next reserve(). Holds no
// memory while it holds no bytes and does not stream: it is little more than a pointer to a block of the pool, with its
// positions in the block's head.
//
// When there is no memory for a reply the output breaks: it discards all further writes and the connection is closed at
// the next settlement. Writers need not check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/limits.h"

namespace postern {

class Output;

/// Whether the producer of a reply may go on, or should stop for now.
enum class Flow : uint8_t { more, pause };

/// Lets a long reply leave while it is still being written; see door/slow_lane.h.
class Valve {
 public:
  /// Called between rows. Sends what it can; `pause` asks the engine to stop after this row.
  virtual Flow flow(Output &output) = 0;
  /// Called at times while there is no row to write: whether the reply still has a reader and may go on.
  virtual Flow still_wanted(Output &) { return Flow::more; }
  /// The reader may have left, which only a send would show: write as much of the reply as possible.
  virtual bool doubts_reader() const { return false; }

 protected:
  ~Valve() = default;
};

class Output {
 public:
  using Mark = uint64_t;

  Output() = default;
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  ~Output();

  /// Room for `bytes`, at most limits::output_piece_bytes_max.
  char *reserve(size_t bytes) { return has_room(bytes) ? data() + block_->end : reserve_more(bytes); }
  void commit(size_t bytes) {
    if (!broken_) block_->end += static_cast<uint32_t>(bytes);
  }

  void put(char byte) {
    *reserve(1) = byte;
    commit(1);
  }
  /// Any number of bytes, copied as they are.
  void put(Bytes bytes);
  /// So many bytes will follow: reserves room for all of them at once, to avoid repeated copies.
  void expect(size_t bytes) {
    if (!has_room(bytes)) reserve_more(bytes);
  }
  void put_natural(uint64_t number) {
    char *const at = reserve(20);
    commit(static_cast<size_t>(print_natural(at, number) - at));
  }
  void put_integer(int64_t number) {
    char *const at = reserve(20);
    commit(static_cast<size_t>(print_integer(at, number) - at));
  }

  Mark mark() const { return base_ + block_->end; }
  /// Takes back everything written since `mark`. Released bytes cannot be taken back.
  void rewind(Mark mark) {
    if (mark != this->mark()) block_->end = static_cast<uint32_t>(mark - base_);
  }
  bool can_rewind(Mark mark) const { return mark >= base_ + block_->released; }
  /// Takes back everything written since `start`. If some of it may have been sent, breaks the output and returns
  /// false.
  bool rewind_or_break(Mark start) {
    if (mark() <= start) return true;
    if (!can_rewind(start)) {
      broken_ = true;
      return false;
    }
    rewind(start);
    return true;
  }
  /// The bytes written since `mark`, as far as they can be taken back; nothing if the output is broken. Valid until
  /// anything else is written or sent.
  Bytes written_since(Mark mark) const {
    return broken_ || !can_rewind(mark) ? Bytes{}
                                        : Bytes{data() + (mark - base_), static_cast<size_t>(this->mark() - mark)};
  }
  /// Counts requests that the current reply answers with an error of the protocol's own, which no op's outcome shows. A
  /// reply that is taken back and written again counts again.
  void note_errors(uint32_t count = 1) { errors_ += count; }
  /// How many were noted since the last call.
  uint32_t take_errors() { return std::exchange(errors_, 0); }
  /// Everything written so far may be sent.
  void release() {
    if (block_->released != block_->end) block_->released = block_->end;
  }
  /// Released and not yet sent.
  Bytes sendable() const { return {data() + block_->sent, block_->released - block_->sent}; }
  /// The first `bytes` of sendable() have left.
  void sent(size_t bytes);
  /// Bytes written and not yet sent, released or not.
  size_t pending_bytes() const { return block_->end - block_->sent; }

  /// From now on replies belong to a turn, as initially: bounds the size of one reply (a single row excepted) and of
  /// all unsent replies together.
  void bound_to_turn() { set(Bound::turn); }
  /// From now on a reply is held until its commit, up to limits::edit_reply_bytes_max.
  void hold_until_commit() { set(Bound::commit); }
  /// From now on a reply is sent through `valve` while it is written, and may have any length.
  void stream_through(Valve &valve);
  bool streaming() const { return bound_ == Bound::none; }

  /// Whether a reply that began at `start` may grow by a row of about `row_bytes`.
  Flow flow(Mark start, size_t row_bytes = 0) {
    const size_t reply_bytes = mark() - start;
    switch (bound_) {
      case Bound::turn: break;
      case Bound::commit: return reply_bytes + row_bytes > limits::edit_reply_bytes_max ? Flow::pause : Flow::more;
      case Bound::none: return block_->valve->flow(*this);
    }
    const size_t bytes_max = reply_bytes == 0 ? limits::first_row_bytes_fast_max : limits::find_bytes_fast_max;
    if (reply_bytes + row_bytes > bytes_max) return Flow::pause;
    return pending_bytes() - reply_bytes > limits::output_high_water_bytes ? Flow::pause : Flow::more;
  }
  /// Whether nothing more should be written before some of it has left.
  bool above_high_water() const { return pending_bytes() > limits::output_high_water_bytes; }
  /// Whether a find without rows to write may go on.
  Flow still_wanted() { return streaming() ? block_->valve->still_wanted(*this) : Flow::more; }
  bool doubts_reader() const { return streaming() && block_->valve->doubts_reader(); }

  /// Out of memory for a reply, or a row beyond every bound: the connection must be closed.
  bool broken() const { return broken_; }
  void set_broken() { broken_ = true; }

 private:
  enum class Bound : uint8_t { turn, commit, none };  // for a reply

  /// The head of a block. An output without a block points to one that is never written.
  struct Places {
    uint32_t size = 0;  // the room after this
    uint32_t sent = 0;
    uint32_t released = 0;
    uint32_t end = 0;
    Valve *valve = nullptr;  // while streaming
  };
  static Places nothing;

  bool holds_block() const { return block_ != &nothing; }
  char *data() const { return reinterpret_cast<char *>(block_ + 1); }
  /// False without a block, however few bytes are wanted.
  bool has_room(size_t bytes) const { return block_->size - block_->end > bytes; }
  char *reserve_more(size_t bytes);
  void set(Bound bound) {
    if (streaming()) end_stream();
    bound_ = bound;
  }
  void end_stream();
  void give_block_back();

  Places *block_ = &nothing;
  uint64_t base_ = 0;  // position of data()[0]
  uint32_t errors_ = 0;
  Bound bound_ = Bound::turn;
  bool broken_ = false;
};

}  // namespace postern
