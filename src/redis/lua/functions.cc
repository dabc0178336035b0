#include "redis/lua/functions.h"

#include <algorithm>
#include <utility>

namespace postern::redis {
namespace {

std::string lowered(Bytes name) {
  std::string text(name);
  for (char &byte : text)
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + ('a' - 'A'));
  return text;
}

}  // namespace

FunctionState::FunctionState(std::vector<LibraryRef> libraries) : libraries_(std::move(libraries)) {
  for (const LibraryRef &library : libraries_)
    for (const auto &function : library->functions) functions_.emplace(lowered(function->name), function.get());
}

const Function *FunctionState::find(Bytes name) const {
  const auto found = functions_.find(lowered(name));
  return found == functions_.end() ? nullptr : found->second;
}

LibraryRef FunctionState::library(Bytes name) const {
  const auto found = std::find_if(libraries_.begin(), libraries_.end(),
                                  [name](const LibraryRef &library) { return library->name == name; });
  return found == libraries_.end() ? nullptr : *found;
}

size_t FunctionState::bytes() const {
  size_t bytes = 0;
  for (const LibraryRef &library : libraries_) bytes += library->code.size();
  return bytes;
}

const Function *FunctionState::collision(const Library &library) const {
  for (const auto &function : library.functions) {
    const Function *const other = find(function->name);
    if (other != nullptr && other->library->name != library.name) return other;
  }
  return nullptr;
}

FunctionStateRef Functions::state() const {
  const std::lock_guard guard(mutex_);
  return state_;
}

bool Functions::fresh(int64_t now_ms) const {
  const std::lock_guard guard(mutex_);
  return under_way_ == 0 && now_ms < read_ms_ + fresh_ms;
}

uint64_t Functions::begin_reading() const {
  const std::lock_guard guard(mutex_);
  return changes_;
}

void Functions::offer(FunctionStateRef state, uint64_t reading, int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  if (under_way_ != 0 || changes_ != reading) return;
  state_.swap(state);
  read_ms_ = now_ms;
}

Functions::Change::Change(Functions &functions) : functions_(functions) {
  const std::lock_guard guard(functions_.mutex_);
  ++functions_.under_way_;
  ++functions_.changes_;
}

Functions::Change::~Change() {
  const std::lock_guard guard(functions_.mutex_);
  --functions_.under_way_;
  ++functions_.changes_;
  functions_.read_ms_ = INT64_MIN / 2;
}

}  // namespace postern::redis
