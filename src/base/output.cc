#include "base/output.h"

#include <new>

#include "base/pool.h"

namespace postern {
namespace {

// Takes writes to a broken output. One for each thread, so that two workers never write the same byte.
thread_local char sink[limits::output_piece_bytes_max];

/// For an output without memory for a stream.
class NoValve final : public Valve {
 public:
  Flow flow(Output &) override { return Flow::pause; }
  Flow still_wanted(Output &) override { return Flow::pause; }
};
NoValve no_valve;

}  // namespace

constinit Output::Places Output::nothing{.valve = &no_valve};

Output::~Output() {
  give_block_back();
}

/// The pool ignores a block of less than its smallest size, as `nothing` is.
void Output::give_block_back() {
  static_assert(sizeof(Places) < limits::block_bytes_min);
  Places *const block = std::exchange(block_, &nothing);
  pool::release({reinterpret_cast<char *>(block), sizeof(Places) + block->size});
}

char *Output::reserve_more(size_t bytes) {
  if (broken_) return sink;
  const pool::Block block = pool::acquire(sizeof(Places) + block_->end + bytes + 1);
  if (block.data == nullptr) {
    broken_ = true;
    return sink;
  }
  auto *const grown = new (block.data) Places(*block_);
  grown->size = static_cast<uint32_t>(block.size - sizeof(Places));
  if (holds_block()) {
    std::memcpy(grown + 1, data(), block_->end);
    give_block_back();
  }
  block_ = grown;
  return data() + block_->end;
}

void Output::put(Bytes bytes) {
  if (bytes.empty()) return;
  expect(bytes.size());
  if (broken_) return;
  std::memcpy(data() + block_->end, bytes.data(), bytes.size());
  commit(bytes.size());
}

void Output::sent(size_t bytes) {
  const uint32_t sent = block_->sent + static_cast<uint32_t>(bytes);
  if (sent == block_->end && !streaming()) {
    base_ += sent;
    return give_block_back();
  }
  if (!holds_block()) return;
  block_->sent = sent;
  if (sent != block_->end) {
    // A stream that is never empty must not grow for ever: sent bytes are dropped once they fill most of the block.
    if (sent < limits::block_bytes_recycled_max || sent < block_->end - sent) return;
    std::memmove(data(), data() + sent, block_->end - sent);
    base_ += sent;
    block_->end -= sent;
    block_->released -= sent;
    block_->sent = 0;
    return;
  }
  base_ += sent;
  block_->sent = block_->released = block_->end = 0;
}

void Output::stream_through(Valve &valve) {
  if (!holds_block()) reserve_more(0);
  if (holds_block()) block_->valve = &valve;
  bound_ = Bound::none;
}

void Output::end_stream() {
  if (!holds_block()) return;
  block_->valve = nullptr;
  if (block_->end == 0) give_block_back();
}

}  // namespace postern
