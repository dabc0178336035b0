// kept_table.h: ReadTables, the tables that a worker keeps open for SELECTs by key, one for each form.
//
// Opening a table and taking its metadata lock costs as much as looking up a row. A kept table is lent to the session
// for a statement (SessionStatement::borrow()), which reads with its own transaction and read view, and takes a
// metadata lock of its own if its transaction goes on. A table that another session waits for is closed at once: the
// worker checks that every few milliseconds, while it works and while it sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/hosted/plans/why_not.h"
#include "engine/mariadb/hosted/thd/home_thd.h"
#include "engine/sql/plans/plan_store.h"

namespace postern::mariadb {

struct TableNames;

/// Why the table may not be lent to sessions one after the other; no reason if it may.
std::optional<WhyNot> may_be_kept(const TABLE &table);
/// Whether others wait for open tables of its definition to be closed. After OPTIMIZE TABLE the server marks only the
/// definition: there is no metadata lock that waits.
bool is_outdated(TABLE &table);

class KeptTable {
 public:
  KeptTable(THD *home, const TableNames &names);
  ~KeptTable();
  KeptTable(const KeptTable &) = delete;
  KeptTable &operator=(const KeptTable &) = delete;

  /// Once, without waiting. False: it cannot be opened, or has another definition than that version's.
  bool open(uint64_t version);
  TABLE &table() const { return *list_.table; }
  const MDL_ticket &ticket() const { return *ticket_; }

  /// For PlanStore.
  size_t bytes() const { return table_bytes; }
  bool outdated() const { return is_outdated(*list_.table); }
  bool wanted_by_others() const { return ticket_->has_pending_conflicting_lock(); }
  bool is_worth_keeping() const { return true; }

 private:
  /// The approximate memory of an open table with its handler and InnoDB's part.
  static constexpr size_t table_bytes = size_t{32} << 10;

  THD *const home_;
  const std::string database_;
  const std::string name_;
  TABLE_LIST list_;
  MDL_ticket *ticket_ = nullptr;
};

/// Owned and used by one worker.
class ReadTables {
 public:
  static constexpr size_t tables_max = 128;
  static constexpr size_t bytes_max = size_t{8} << 20;
  static constexpr uint64_t unused_max_us = 2'000'000;
  /// The bound on waits of other sessions for a table: while the worker has statements to answer, and while it sleeps.
  static constexpr uint64_t look_every_us = 20'000;
  static constexpr int look_asleep_ms = 20;

  explicit ReadTables(const HomeThd &home) : home_(home) {}

  /// The form's table with the definition of that version, which may be kept; it is opened if it is not yet. nullptr:
  /// it cannot be. The thread may act as a session's THD.
  KeptTable *find(uint64_t form, const TableNames &names, uint64_t version, uint64_t now_us);
  void drop(const KeptTable *table) { kept_.drop(table); }

  bool empty() const { return kept_.empty(); }
  /// Closes tables that another session waits for. Called often; it checks only every few milliseconds.
  void yield(uint64_t now_us) {
    if (!kept_.empty() && now_us - looked_us_ >= look_every_us) close_wanted_ones(now_us);
  }
  /// The same, and closes those that were not used lately: called before the worker sleeps. Returns the milliseconds
  /// after which to call it again; 0: there are no tables.
  int rest(uint64_t now_us);
  void give_up() { kept_.clear(); }

 private:
  /// Acts as the THD that has the table open, to close it.
  struct EndAtHome {
    THD *home;
    void operator()(KeptTable *table) const;
  };
  using Held = std::unique_ptr<KeptTable, EndAtHome>;
  /// The sessions' settings do not matter.
  struct AnyContext {
    bool operator==(const AnyContext &) const { return true; }
  };

  void close_wanted_ones(uint64_t now_us);

  const HomeThd &home_;
  sql::PlanStore<Held, AnyContext> kept_{{.plans_max = tables_max,
                                          .bytes_max = bytes_max,
                                          .look_after_us = UINT64_MAX,
                                          .unused_max_us = unused_max_us,
                                          .age_max_us = UINT64_MAX}};
  uint64_t looked_us_ = 0;
};

}  // namespace postern::mariadb
