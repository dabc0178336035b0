#include "base/output.h"

#include "base/pool.h"

namespace postern {
namespace {

// Where writes to a broken output go. Per thread, so that two workers never write one byte at once.
thread_local char sink[limits::output_piece_bytes_max];

}  // namespace

Output::~Output() {
  pool::release({data_, size_});
}

char *Output::reserve_more(size_t bytes) {
  if (broken_) return sink;
  const pool::Block block = pool::acquire(end_ + bytes);
  if (block.data == nullptr) {
    broken_ = true;
    return sink;
  }
  if (end_ != 0) std::memcpy(block.data, data_, end_);
  pool::release({data_, size_});
  data_ = block.data;
  size_ = static_cast<uint32_t>(block.size);
  return data_ + end_;
}

void Output::put(Bytes bytes) {
  if (bytes.empty()) return;
  expect(bytes.size());
  if (broken_) return;
  std::memcpy(data_ + end_, bytes.data(), bytes.size());
  commit(bytes.size());
}

void Output::sent(size_t bytes) {
  sent_ += static_cast<uint32_t>(bytes);
  if (sent_ != end_) {
    // A stream that is never empty must not grow for ever: what left is dropped once it is most of the block.
    if (sent_ < limits::block_bytes_recycled_max || sent_ < end_ - sent_) return;
    std::memmove(data_, data_ + sent_, end_ - sent_);
    base_ += sent_;
    end_ -= sent_;
    released_ -= sent_;
    sent_ = 0;
    return;
  }
  base_ += end_;
  sent_ = released_ = end_ = 0;
  pool::release({data_, size_});
  data_ = nullptr;
  size_ = 0;
}

}  // namespace postern
