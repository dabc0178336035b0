// transaction.h: Transaction, the commands that MULTI has queued and the keys that WATCH has noted on one connection.
//
// Owned by its session and touched by one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/block_arena.h"
#include "base/pool.h"
#include "contract/reply.h"
#include "redis/keyspace/open_maps.h"
#include "redis/registry/command.h"
#include "redis/tables.h"

namespace postern::redis {

/// A fingerprint of a key's row: all its columns, or their absence, hashed with a secret key.
struct Print {
  uint64_t first = 0;
  uint64_t second = 0;
  bool there = false;
  bool known = true;  ///< whether the key could be read

  bool operator==(const Print &other) const {
    if (!known || !other.known || there != other.there) return false;
    return !there || (first == other.first && second == other.second);
  }
};

/// The fingerprint of a row with all columns.
Print print_of(const Map &map, Row row, int64_t now_ms);

/// Takes the fingerprint of a key's row. Writes no reply.
class PrintReply final : public Reply {
 public:
  /// `print` outlives the ops of its batch.
  PrintReply(Print &print, const Map &map, int64_t now_ms) : print_(print), map_(map), now_ms_(now_ms) {}

  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override { print_ = {}; }

 private:
  Print &print_;
  const Map &map_;
  const int64_t now_ms_;
};

/// A watched key.
struct Watched {
  uint32_t database = 0;
  std::string key{};
  Print print{};
  /// The client has read a different row since: a change that may be reverted before EXEC comes. For mapped rows only;
  /// a generic keyspace has versions.
  bool read_otherwise = false;
};

/// A command that waits for EXEC; its arguments are in Program::texts.
class Queued {
 public:
  Queued(const Command &command, std::span<const Bytes> arguments) : command_(&command), arguments_(arguments) {}

  const Command &command() const { return *command_; }
  std::span<const Bytes> arguments() const { return arguments_; }

 private:
  const Command *command_;
  std::span<const Bytes> arguments_;
};

/// The commands that EXEC runs: they outlive the transaction.
struct Program final : Kept {
  BlockArena texts{};
  std::vector<Queued> commands{};
  std::deque<Watched> watched{};  ///< its addresses are stable
  pool::Tally bytes{};            ///< memory that the pool does not count itself
};

class Transaction {
 public:
  static constexpr size_t watched_max = 10'000;

  /// Between MULTI and EXEC.
  bool open() const { return open_; }
  /// Whether the command waits for EXEC.
  bool queues(const Command &command) const;
  /// EXEC will refuse it.
  void spoil() { spoiled_ = spoiled_ || open_; }
  bool spoiled() const { return spoiled_; }
  void begin() { open_ = true; }
  size_t size() const { return program_ == nullptr ? 0 : program_->commands.size(); }
  size_t bytes() const { return program_ == nullptr ? 0 : program_->texts.used(); }

  /// Whether one of the queued commands satisfies it.
  template <class Judge>
  bool any_queued(Judge judge) const {
    return program_ != nullptr && std::any_of(program_->commands.begin(), program_->commands.end(), judge);
  }

  /// Queues a command. False: no memory for it. Throws std::bad_alloc.
  bool queue(const Command &command, std::span<const Bytes> arguments);
  /// Notes a watched key; nullptr: it was noted before, or (`full`) there are too many.
  Watched *watch(uint32_t database, Bytes key, bool &full);
  /// The note of a watched key; nullptr: not watched.
  Watched *watched(uint32_t database, Bytes key) {
    if (program_ == nullptr || program_->watched.empty()) return nullptr;
    const auto same = [&](const Watched &one) { return one.database == database && one.key == key; };
    const auto at = std::find_if(program_->watched.begin(), program_->watched.end(), same);
    return at == program_->watched.end() ? nullptr : &*at;
  }

  /// Ends the transaction and gives its commands to the caller. Never nullptr.
  std::unique_ptr<Program> take();

 private:
  Program &program();

  bool open_ = false;
  bool spoiled_ = false;
  std::unique_ptr<Program> program_;
};

}  // namespace postern::redis
