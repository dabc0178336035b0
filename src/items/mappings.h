// mappings.h: Mappings, which containers there are: the tables in which a protocol keeps them, as they were read last.
//
// One for all sessions of a protocol. A session holds the snapshot it works with; `generation` tells it when there is
// another. Nobody reads the tables by itself: a session that finds the snapshot old adds a Refresh to its batch, at
// most one session a second, so that a change is in effect about a second after it was committed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "contract/batch.h"
#include "contract/reply.h"
#include "contract/table.h"
#include "items/container.h"

namespace postern::items {

/// What the tables of a mapping say.
struct Mapping {
  std::vector<ContainerRow> rows{};
  std::string delimiter = ".";        ///< between a container's name and the key, where clients name one
  std::string trouble{};              ///< why there is no container, for people
  std::vector<std::string> doubts{};  ///< what could not be read beside the containers
};

/// One table of a mapping as it was read: its rows as text, NULL as nothing.
struct MappingTable {
  std::vector<std::vector<std::string>> rows{};
  Failure failure = Failure::none;
  std::string message{};  ///< of the failure, for people

  bool there() const { return failure == Failure::none; }
  /// It could not be read just now, which says nothing about the table itself.
  bool passing() const;
};

/// Where a protocol keeps its mapping, and what that means. All views live for ever.
struct MappingSource {
  struct Table {
    Bytes name;  ///< its primary key is one text column
    std::span<const Bytes> columns;
  };

  Bytes protocol;  ///< its name in the log
  Bytes database;
  std::span<const Table> tables;
  Mapping (*understand)(std::span<const MappingTable> tables);  ///< in the order of `tables`
};

/// Immutable, and never empty-handed: without containers it says why.
struct Snapshot {
  std::vector<std::shared_ptr<const Container>> containers;  ///< by name
  std::shared_ptr<const Container> standard;                 ///< for connections that have named none
  std::string delimiter;
  std::string trouble;
  std::vector<std::string> doubts;

  std::shared_ptr<const Container> find(Bytes name) const;
};

class Mappings {
 public:
  static constexpr int64_t refresh_ms = 1'000;

  /// `source` outlives it.
  explicit Mappings(const MappingSource &source) : source_(source) {}

  const MappingSource &source() const { return source_; }
  /// The ops of one Refresh.
  uint32_t refresh_ops() const { return 2 * static_cast<uint32_t>(source_.tables.size()); }

  /// Counts the snapshots; 0: there is none yet.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> snapshot() const;

  /// Whether the caller shall read the tables now: true for one caller a second, and for none while one does so. It
  /// makes a Refresh that is told of it.
  bool claim_refresh(int64_t now_ms) {
    int64_t due_ms = due_ms_.load(std::memory_order_relaxed);
    return now_ms >= due_ms && due_ms_.compare_exchange_strong(due_ms, INT64_MAX);
  }
  void end_claim(int64_t now_ms) { due_ms_.store(now_ms + refresh_ms, std::memory_order_relaxed); }
  /// Whether the snapshot is older than somebody who changed the tables would expect, since nobody asked for long.
  bool stale(int64_t now_ms) const { return now_ms >= read_ms_.load(std::memory_order_relaxed) + 2 * refresh_ms; }

  /// Makes what was read the newest snapshot, if it differs. Logs what is new and wrong.
  void publish(Mapping mapping, int64_t now_ms);

 private:
  void log_news(const Snapshot *before, const Snapshot &fresh) const;

  const MappingSource &source_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> due_ms_{0};
  std::atomic<int64_t> read_ms_{0};
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::shared_ptr<const Snapshot> snapshot_;
};

/// One reading of the tables, owned by whoever runs its ops. Outlives them.
class Refresh {
 public:
  explicit Refresh(Mappings &mappings, bool claimed = false);
  Refresh(const Refresh &) = delete;
  Refresh &operator=(const Refresh &) = delete;
  ~Refresh();

  /// Adds its ops, on behalf of nobody.
  void add_to(Batch &batch);
  /// The ops are done.
  void publish(int64_t now_ms);

 private:
  /// Hears both ops of one table.
  class Reading final : public Reply {
   public:
    Flow row(Row row) override;
    void done(const Outcome &outcome) override;
    void restart() override;

    MappingTable read;
  };
  struct Table {
    TableSlot slot;
    Reading opened;
    Reading found;
  };

  void add_table(Batch &batch, const MappingSource::Table &source, Table &table) const;

  Mappings &mappings_;
  const bool claimed_;
  const std::unique_ptr<Table[]> tables_;  // in the order of the source's
};

}  // namespace postern::items
