// slow_log.h: SlowLog, the commands that took longest, for SLOWLOG; LatencyEvents, the worst times of each second, for
// LATENCY; and CommandNote, a copy of one command's arguments in case it proves slow.
//
// A port has one of each of the first two; any thread may use them. Their settings are CONFIG SET's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/changing.h"

namespace postern::redis {

/// A copy of the beginnings of the last command that a session has read. Owned by the session.
class CommandNote {
 public:
  void take(std::span<const Bytes> arguments);
  /// The same with only the name, which lives for ever: the cheapest note.
  void take_name(Bytes name, size_t count) {
    text_.clear();
    name_ = name;
    count_ = count;
  }
  void clear() { take_name({}, 0); }
  bool empty() const { return count_ == 0; }
  /// The arguments as Redis shows them: at most 32, of 128 bytes each, and how much was cut.
  std::vector<std::string> words() const;

 private:
  std::string text_;  // the length and the beginning of each argument that is kept
  Bytes name_{};      // if none is
  size_t count_ = 0;  // of all arguments
};

struct SlowCommand {
  uint64_t id = 0;
  int64_t at_s = 0;  ///< since 1970
  int64_t took_us = 0;
  std::vector<std::string> words{};
  std::string address{};
  std::string client_name{};
  std::string user{};
};

class SlowLog {
 public:
  static constexpr size_t length_max_max = 10'000;

  Changing<int64_t> threshold_us = 10'000;  ///< negative: nothing is noted
  Changing<size_t> length_max = 128;

  bool is_on() const { return threshold_us >= 0; }
  /// Reads of one key are seldom slow, so their arguments are not copied.
  bool wants_all_words() const { return threshold_us < 1'000; }
  bool is_slow(int64_t took_us) const { return threshold_us >= 0 && took_us >= threshold_us; }
  /// Adds an entry with the next id. Without memory nothing is noted.
  void note(SlowCommand command) noexcept;
  /// The newest `count` commands of the account, newest first.
  std::vector<SlowCommand> newest(Bytes user, size_t count) const;
  size_t length(Bytes user) const;
  void forget(Bytes user);

 private:
  mutable std::mutex mutex_;  // a leaf
  std::deque<SlowCommand> commands_;
  uint64_t next_id_ = 0;
};

class LatencyEvents {
 public:
  enum class Event : uint8_t { command, fast_command };
  static constexpr std::array<Bytes, 2> names = {"command", "fast-command"};
  struct Sample {
    int64_t at_s;
    int64_t ms;
  };
  static constexpr size_t samples_max = 160;

  Changing<int64_t> threshold_ms = 0;  ///< 0: nothing is noted

  bool is_slow(int64_t took_us) const { return threshold_ms > 0 && took_us >= threshold_ms * 1'000; }
  void note(Event event, int64_t at_s, int64_t ms) noexcept;
  /// The oldest first.
  std::vector<Sample> history(Event event) const;
  int64_t worst_ms(Event event) const;
  /// Whether there was anything to forget.
  bool forget(Event event);

 private:
  struct Series {
    std::deque<Sample> samples;
    int64_t worst_ms = 0;
  };
  mutable std::mutex mutex_;  // a leaf
  std::array<Series, 2> series_;
};

}  // namespace postern::redis
