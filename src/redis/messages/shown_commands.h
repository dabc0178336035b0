// shown_commands.h: ShownCommands, the commands of a session that clients in MONITOR have not seen yet.
//
// Owned by its session and touched by one thread at a time. Commands of one transaction are shown together, at its end
// and before its answer: what was answered before another command came is shown before that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "redis/messages/subscriptions.h"

namespace postern::redis {

class ShownCommands {
 public:
  /// More than so much of a transaction is not kept until its end.
  static constexpr size_t bytes_max = size_t{1} << 20;

  /// An id of the next line: it rises.
  uint64_t next_id() const { return next_id_; }
  /// Throws std::bad_alloc.
  void add(std::string line);
  bool empty() const { return noted_.empty(); }
  bool is_full() const { return bytes_ > bytes_max; }
  /// Those from one id on, before another one. False: there is none that nobody has seen.
  bool take_back(uint64_t from, uint64_t to) noexcept;
  /// To all that see commands of this account. Without memory nobody sees them.
  void show(Subscriptions &all, Bytes user) noexcept;

 private:
  struct Noted {
    uint64_t id;
    std::string line;
  };
  std::vector<Noted> noted_;
  uint64_t next_id_ = 0;
  size_t bytes_ = 0;
};

}  // namespace postern::redis
