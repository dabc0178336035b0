// config_tables.h: ConfigTables, the tables with a door's configuration, as last read.
//
// One for all sessions of a protocol. No thread reads the tables by itself: a session with an old snapshot adds a
// Refresh to its batch, at most one session a second, so that a change takes effect about a second after its commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/batch.h"
#include "contract/reply.h"
#include "contract/table.h"

namespace postern::items {

/// One table as read: its rows as text, NULL as the empty text.
struct MappingTable {
  std::vector<std::vector<std::string>> rows{};
  Failure failure = Failure::none;
  std::string message{};  ///< text of the failure

  bool there() const { return failure == Failure::none; }
  /// Whether it could not be read for a temporary reason.
  bool passing() const;
};

class ConfigTables {
 public:
  struct Table {
    Bytes name;  ///< it has a primary key, by which its rows are sorted
    std::span<const Bytes> columns;
  };
  static constexpr int64_t refresh_ms = 1'000;

  /// All views live for ever.
  ConfigTables(Bytes database, std::span<const Table> tables) : database_(database), tables_(tables) {}

  Bytes database() const { return database_; }
  std::span<const Table> tables() const { return tables_; }
  /// The ops of one Refresh.
  uint32_t refresh_ops() const { return 2 * static_cast<uint32_t>(tables_.size()); }

  /// The number of snapshots published so far; 0: nothing was read yet.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// Whether the caller shall read the tables now: true for one caller a second, and for none during a reading. That
  /// caller makes a Refresh.
  bool claim_refresh(int64_t now_ms) {
    int64_t due_ms = due_ms_.load(std::memory_order_relaxed);
    return now_ms >= due_ms && due_ms_.compare_exchange_strong(due_ms, INT64_MAX);
  }
  void end_claim(int64_t now_ms) { due_ms_.store(now_ms + refresh_ms, std::memory_order_relaxed); }
  /// Whether the last read is so old, because no session was active, that a change might be missed.
  bool stale(int64_t now_ms) const { return now_ms >= read_ms_.load(std::memory_order_relaxed) + 2 * refresh_ms; }

  /// The rows, in the order of the tables.
  virtual void take(std::span<MappingTable> read, int64_t now_ms) = 0;

 protected:
  ~ConfigTables() = default;
  void note_read(int64_t now_ms) { read_ms_.store(now_ms, std::memory_order_relaxed); }
  void next_generation() { generation_.fetch_add(1, std::memory_order_release); }

 private:
  const Bytes database_;
  const std::span<const Table> tables_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> due_ms_{0};
  std::atomic<int64_t> read_ms_{0};
};

/// One reading of the tables, owned by the caller that runs its ops. Outlives them.
class Refresh {
 public:
  explicit Refresh(ConfigTables &config, bool claimed = false);
  Refresh(const Refresh &) = delete;
  Refresh &operator=(const Refresh &) = delete;
  ~Refresh();

  /// Adds its ops, without an identity.
  void add_to(Batch &batch);
  /// Nothing, unless all ops are done: a table that was not read is not an empty table.
  void publish(int64_t now_ms);

 private:
  /// Receives the results of both ops of one table.
  class Reading final : public Reply {
   public:
    Flow row(Row row) override;
    void done(const Outcome &outcome) override;
    void restart() override;

    MappingTable read;
    bool ended = false;
  };
  struct Table {
    /// The op whose outcome counts.
    Reading &last() { return opened.read.there() ? found : opened; }

    TableSlot slot;
    Reading opened;
    Reading found;
  };

  void add_table(Batch &batch, const ConfigTables::Table &source, Table &table) const;

  ConfigTables &config_;
  const bool claimed_;
  const std::unique_ptr<Table[]> tables_;  // in the order of the config's
};

}  // namespace postern::items
