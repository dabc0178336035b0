#include "memcached/prefixes.h"

#include <algorithm>

namespace postern::memcached {

void Prefixes::count(ItemAction action, Bytes key, bool hit) {
  const std::lock_guard guard(mutex_);
  Counts *const counts = find(key);
  if (counts == nullptr) return;
  switch (action) {
    case ItemAction::get:
      ++counts->gets;
      if (hit) ++counts->hits;
      break;
    case ItemAction::set:
    case ItemAction::add:
    case ItemAction::replace:
    case ItemAction::append:
    case ItemAction::prepend: ++counts->sets; break;
    case ItemAction::erase: ++counts->erased; break;
    default: break;
  }
}

Prefixes::Counts *Prefixes::find(Bytes key) {
  const size_t end = key.find(':');
  if (end == Bytes::npos) return nullptr;
  const Bytes prefix = key.substr(0, end);
  if (const auto found = prefixes_.find(prefix); found != prefixes_.end()) return &found->second;
  if (prefixes_.size() == prefixes_max) return nullptr;
  return &prefixes_[std::string(prefix)];
}

void Prefixes::tell(const std::function<void(Bytes)> &line) const {
  const std::lock_guard guard(mutex_);
  for (const auto &[prefix, counts] : prefixes_) {
    std::string text = "PREFIX " + prefix;
    // A key of the binary dialect holds any bytes, and a line has one end.
    std::replace_if(
        text.begin() + 7, text.end(), [](char byte) { return static_cast<unsigned char>(byte) <= 0x20; }, '?');
    text += " get " + std::to_string(counts.gets) + " hit " + std::to_string(counts.hits) + " set " +
            std::to_string(counts.sets) + " del " + std::to_string(counts.erased);
    line(text);
  }
}

void Prefixes::reset() {
  const std::lock_guard guard(mutex_);
  prefixes_.clear();
}

}  // namespace postern::memcached
