// mappings.h: Mappings, which containers there are: the tables of the database innodb_memcache as they were read last.
//
// One for all sessions of a protocol. A session holds the snapshot it works with; `generation` tells it when there is
// another. Nobody reads the tables by itself: a session that finds the snapshot old adds a Refresh to its batch, at
// most one session a second, so that a change is in effect about a second after it was committed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "contract/batch.h"
#include "contract/reply.h"
#include "contract/table.h"
#include "items/container.h"

namespace postern::memcached {

using items::Container;
using items::ContainerRow;
using items::Policies;
using items::Policy;

/// Immutable, and never empty-handed: without containers it says why.
struct Snapshot {
  std::vector<std::shared_ptr<const Container>> containers;  ///< by name
  std::shared_ptr<const Container> standard;                 ///< for connections that have named none
  std::string delimiter = ".";                               ///< between `@@name` and the key
  std::string trouble;                                       ///< why there is no container, for people
  std::vector<std::string> doubts;                           ///< what could not be read beside the containers

  std::shared_ptr<const Container> find(Bytes name) const;
};

class Mappings {
 public:
  static constexpr int64_t refresh_ms = 1'000;

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

  /// What was read. Logs what is new and wrong.
  void publish(std::vector<ContainerRow> rows, std::string delimiter, std::string trouble,
               std::vector<std::string> doubts, int64_t now_ms);

 private:
  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> due_ms_{0};
  std::atomic<int64_t> read_ms_{0};
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::shared_ptr<const Snapshot> snapshot_;
};

/// One reading of the tables, owned by whoever runs its ops. Outlives them.
class Refresh {
 public:
  static constexpr uint32_t ops = 6;

  explicit Refresh(Mappings &mappings, bool claimed = false) : mappings_(mappings), claimed_(claimed) {}
  Refresh(const Refresh &) = delete;
  Refresh &operator=(const Refresh &) = delete;
  ~Refresh();

  /// Adds its ops, on behalf of nobody.
  void add_to(Batch &batch);
  /// The ops are done.
  void publish(int64_t now_ms);

 private:
  /// The rows of one table as text.
  class Reading final : public Reply {
   public:
    Flow row(Row row) override;
    void done(const Outcome &outcome) override;
    void restart() override;

    std::vector<std::vector<std::string>> rows;
    Failure failure = Failure::none;
    std::string message;
  };
  struct Table {
    TableSlot slot;
    Reading opened;
    Reading found;
    bool there() const { return opened.failure == Failure::none && found.failure == Failure::none; }
    const Reading &trouble() const { return opened.failure != Failure::none ? opened : found; }
  };

  static void add_table(Batch &batch, Table &table, Bytes name, std::span<const Bytes> columns);
  std::string option(Bytes name, Bytes otherwise) const;
  Policies policies() const;
  std::vector<std::string> doubts() const;

  Mappings &mappings_;
  const bool claimed_;
  Table containers_;
  Table policies_;
  Table options_;
};

}  // namespace postern::memcached
