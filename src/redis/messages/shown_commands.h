// shown_commands.h: ShownCommands, the commands of a session that have not been sent to monitors yet.
//
// Owned by its session and touched by one thread at a time. Commands of one transaction are shown together, at its end
// and before its answer, so that commands appear in the order of their answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "redis/messages/subscriptions.h"

namespace postern::redis {

class ShownCommands {
 public:
  /// A transaction's lines beyond this are shown before its end.
  static constexpr size_t bytes_max = size_t{1} << 20;

  /// The id of the next line; ids rise.
  uint64_t next_id() const { return next_id_; }
  /// Throws std::bad_alloc.
  void add(std::string line);
  bool empty() const { return noted_.empty(); }
  bool is_full() const { return bytes_ > bytes_max; }
  /// Takes back lines from one id on, before another. False: all were shown.
  bool take_back(uint64_t from, uint64_t to) noexcept;
  /// Sends the lines to all monitors of this account. Without memory they are lost.
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
