#include "redis/messages/shown_commands.h"

#include <new>
#include <utility>

namespace postern::redis {

void ShownCommands::add(std::string line) {
  const size_t bytes = line.size();
  noted_.push_back({next_id_, std::move(line)});
  bytes_ += bytes;
  ++next_id_;
}

bool ShownCommands::take_back(uint64_t from, uint64_t to) noexcept {
  const size_t taken = std::erase_if(noted_, [&](const Noted &one) { return one.id >= from && one.id < to; });
  return taken != 0;
}

void ShownCommands::show(Subscriptions &all, Bytes user) noexcept {
  if (noted_.empty()) return;
  try {
    std::vector<std::string> lines;
    lines.reserve(noted_.size());
    for (Noted &one : noted_) lines.push_back(std::move(one.line));
    all.show(user, lines);
  } catch (const std::bad_alloc &) {
    // They are lost.
  }
  noted_.clear();
  bytes_ = 0;
}

}  // namespace postern::redis
