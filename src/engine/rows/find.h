// find.h: Finder, which reads rows along an index.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/executor.h"
#include "contract/op.h"
#include "engine/rows/cursor.h"
#include "engine/rows/walk.h"
#include "engine/server/table.h"
#include "engine/sql/attempt.h"
#include "engine/sql/equal_finds.h"
#include "engine/sql/scan_control.h"

namespace postern::rows {

/// Runs finds for one executor, one after the other, on tables that are locked.
class Finder {
 public:
  /// A scan pauses when `stop` becomes true.
  Finder(Tables &tables, Counters *counters, const std::atomic<bool> &stop)
      : tables_(tables), counters_(counters), stop_(stop) {}

  void begin_batch(THD *thd, Lane lane) {
    thd_ = thd;
    lane_ = lane;
    share_.begin_run();
    equal_.end_run();
  }
  /// Begins a batch without writes and with about so many finds: equal ones may share an answer.
  void expect(size_t finds) { equal_.begin_run(finds); }
  /// Runs `op`: passes every row to its reply and, unless it pauses, the outcome, and sets the op's `progress`.
  void run(Op &op, OpenTable &table);

 private:
  /// Why a find stopped before its end; `none`: it goes on, or has ended.
  enum class Halt : uint8_t { none, paused, deferred, held_up, failed };
  struct Scan;

  bool slow() const { return lane_ == Lane::alone; }
  bool answer_as_before(Op &op, OpenTable &table);
  Halt begin(Scan &scan);
  Halt walk_keys(Scan &scan);
  uint64_t estimate_rows(Scan &scan);
  Halt walk_key(Scan &scan);
  Halt resume_row(Scan &scan, DownByGroups *groups, int &code);
  Halt offer(Scan &scan);
  Halt fail(Scan &scan, int code);
  Halt interrupt(Scan &scan);
  bool must_pause(Scan &scan) const;
  bool must_give_way() const;
  Halt save(Scan &scan);

  Tables &tables_;
  Counters *const counters_;
  const std::atomic<bool> &stop_;
  THD *thd_ = nullptr;
  Lane lane_ = Lane::turn;  // the batch's
  sql::TurnShare share_;
  sql::EqualFinds equal_;
  Walk walk_;                           // the running find's
  std::optional<DownByGroups> groups_;  // a slow scan's
  sql::ServerError error_;
};

}  // namespace postern::rows
