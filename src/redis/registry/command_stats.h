// command_stats.h: CommandStats, how often each command ran, and how long: the figures of INFO commandstats.
//
// Each worker counts by itself, in CommandStats of its own; AllCommandStats adds them up.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "redis/registry/command.h"

namespace postern::redis {

struct CommandFigures {
  uint64_t calls = 0;
  uint64_t usec = 0;      ///< from reading a command to its answer; commands that came together share that time
  uint64_t rejected = 0;  ///< before it ran: a wrong number of arguments, or no login
  /// Calls by duration: place n counts calls shorter than 2^n microseconds.
  static constexpr size_t times = 32;
  std::array<uint64_t, times> calls_by_time{};
};

/// One thread writes, any thread reads.
class CommandStats {
 public:
  CommandStats() : rows_(commands().size()) {}

  void note(const Command &command, uint64_t calls, uint64_t usec) {
    Row &row = rows_[command.place];
    add(row.calls, calls);
    add(row.usec, usec);
    if (calls != 0) add(row.by_time[std::min<size_t>(std::bit_width(usec / calls), CommandFigures::times - 1)], calls);
  }
  void note_rejected(const Command &command) { add(rows_[command.place].rejected, 1); }
  void add_to(std::vector<CommandFigures> &sum) const;

 private:
  struct Row {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> usec{0};
    std::atomic<uint64_t> rejected{0};
    std::array<std::atomic<uint64_t>, CommandFigures::times> by_time{};
  };
  static void add(std::atomic<uint64_t> &to, uint64_t by) {
    to.store(to.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::vector<Row> rows_;
};

/// Any thread.
class AllCommandStats {
 public:
  /// The calling thread's statistics; they live as long as this. Throws std::bad_alloc.
  CommandStats &of_this_thread();
  /// Counts since the last reset, by Command::place.
  std::vector<CommandFigures> sum() const;
  void forget();

 private:
  std::vector<CommandFigures> sum_locked() const;

  mutable std::mutex mutex_;  // a leaf
  std::deque<std::pair<std::thread::id, CommandStats>> threads_;
  std::vector<CommandFigures> forgotten_;
};

/// The commands of one session that are under way, and when they were read. Neighbours are often equal.
class RunningCommands {
 public:
  void begin(int64_t now_us) { began_us_ = now_us; }
  /// Throws std::bad_alloc.
  void add(const Command &command) {
    if (run_.command != &command) begin_run(command);
    ++run_.count;
  }
  bool empty() const { return run_.command == nullptr; }
  /// All are answered. Returns the duration in microseconds.
  int64_t end(int64_t now_us, CommandStats &stats) {
    const int64_t took_us = now_us - began_us_;
    const auto took = static_cast<uint64_t>(took_us);
    if (!before_.empty()) {
      end_all(took, stats);
      return took_us;
    }
    stats.note(*run_.command, run_.count, took);
    run_ = {};
    return took_us;
  }

 private:
  struct Run {
    const Command *command = nullptr;
    uint32_t count = 0;
  };

  void begin_run(const Command &command);
  void end_all(uint64_t took, CommandStats &stats);

  Run run_;
  std::vector<Run> before_;
  int64_t began_us_ = 0;
};

}  // namespace postern::redis
