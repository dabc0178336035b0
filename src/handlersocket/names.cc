#include "handlersocket/names.h"

#include <limits>

namespace postern::handlersocket {
namespace {

/// Walks a list, name by name.
class NameList {
 public:
  explicit NameList(Bytes list) : rest_(list), more_(!list.empty()) {}

  /// The next name, still quoted if it was. False at the end.
  bool next(Bytes &name) {
    if (!more_) return false;
    size_t end = 0;
    bool quoted = false;
    for (; end < rest_.size() && (quoted || rest_[end] != ','); ++end)
      if (rest_[end] == '`') quoted = !quoted;
    name = rest_.substr(0, end);
    more_ = end < rest_.size();
    rest_.remove_prefix(more_ ? end + 1 : end);
    return true;
  }

 private:
  Bytes rest_;
  bool more_;
};

Bytes unquoted(Bytes name, Arena &arena) {
  if (name.size() < 2 || name.front() != '`' || name.back() != '`') return name;
  if (name.substr(1, name.size() - 2).find("``") == Bytes::npos) return name.substr(1, name.size() - 2);
  const std::span<char> copy = arena.array<char>(name.size());
  size_t size = 0;
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    copy[size++] = name[i];
    if (name[i] == '`' && name[i + 1] == '`') ++i;
  }
  return {copy.data(), size};
}

}  // namespace

size_t count_names(Bytes list) {
  size_t count = 0;
  Bytes name;
  for (NameList names(list); names.next(name);) ++count;
  return count;
}

std::span<const Bytes> parse_names(Bytes list, Arena &arena) {
  const std::span<Bytes> parsed = arena.array<Bytes>(count_names(list));
  NameList names(list);
  for (Bytes &name : parsed) {
    names.next(name);
    name = unquoted(name, arena);
  }
  return parsed;
}

int32_t index_position(Bytes name) {
  uint64_t position = 0;
  const bool is_number = parse_natural(name, position) && position <= std::numeric_limits<int32_t>::max();
  return is_number ? static_cast<int32_t>(position) : -1;
}

}  // namespace postern::handlersocket
