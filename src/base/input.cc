#include "base/input.h"

#include <cassert>
#include <cstring>

#include "base/limits.h"
#include "base/pool.h"

namespace postern {

Input::~Input() {
  pool::release({data_, size_});
}

std::span<char> Input::room(size_t bytes_min) {
  if (size_ - end_ >= bytes_min) return {data_ + end_, size_ - end_};
  settle();
  if (size_ - end_ >= bytes_min) return {data_ + end_, size_ - end_};
  const pool::Block block = pool::acquire(end_ + bytes_min);
  if (block.data == nullptr) return {};
  if (end_ != 0) std::memcpy(block.data, data_, end_);
  pool::release({data_, size_});
  data_ = block.data;
  size_ = static_cast<uint32_t>(block.size);
  return {data_ + end_, size_ - end_};
}

void Input::wipe(Bytes parsed) {
  if (parsed.empty()) return;
  assert(parsed.data() >= data_ && parsed.data() + parsed.size() <= data_ + parsed_);
  explicit_bzero(data_ + (parsed.data() - data_), parsed.size());
}

void Input::settle() {
  if (parsed_ == end_) {
    pool::release({data_, size_});
    data_ = nullptr;
    size_ = parsed_ = end_ = scanned_ = 0;
    return;
  }
  if (parsed_ == 0) return;
  std::memmove(data_, data_ + parsed_, end_ - parsed_);
  end_ -= parsed_;
  parsed_ = 0;
}

}  // namespace postern
