// table.h: one executor's view of the tables that are open: opening by spec, giving way to DDL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/limits.h"
#include "engine/mysql/opening.h"
#include "engine/rows/opened_index.h"
#include "engine/sql/known_tables.h"
#include "engine/sql/specs.h"

namespace postern::mysqld {

using rows::WriteTable;
using sql::Spec;
using sql::Specs;

/// One spec resolved in an open table, with the parts specific to this server.
class OpenTable final : public rows::OpenedIndex {
 public:
  explicit OpenTable(Spec *its_spec) : OpenedIndex(its_spec, sizeof(OpenTable) + sizeof(Table_ref)) {}

  /// MySQL has no row history.
  static constexpr bool has_history() { return false; }
  static constexpr bool row_is_current() { return true; }
  void find_history() {}

 private:
  friend class Tables;
  std::unique_ptr<Table_ref> list_;
};

using OpenTables = sql::KnownTables<OpenTable>;

/// All tables of one executor.
class Tables {
 public:
  /// `give_up_all` gives up every table and metadata lock of the thread, including those of other objects.
  Tables(THD *thd, Specs &specs, Counters *counters, std::function<void()> give_up_all)
      : thd_(thd), counters_(counters), give_up_all_(std::move(give_up_all)), open_(specs) {}
  ~Tables();
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;

  /// Called after ServerThread::renew(); nothing may be open. nullptr: no THD any more.
  void set_thd(THD *thd) { thd_ = thd; }

  void begin_batch();
  /// Makes sure that the table of `spec` is open, its names resolved, for the running batch. `positions` asks for a
  /// read set from which a scan can be resumed, or compared with bounds. State `again`: everything was given up;
  /// prepare every table of the batch anew. Throws std::bad_alloc.
  OpenTable &prepare(Spec *spec, bool positions);
  /// The result of prepare() in this batch; nullptr if it was not called, or everything was given up since.
  OpenTable *prepared(const Spec *spec) {
    OpenTable *const table = open_.find(spec->id());
    return table != nullptr && table->serial == spec->serial() && table->batch == batch_ ? table : nullptr;
  }
  /// Locks the prepared tables; if that fails, all tables of the batch become busy or failed.
  void lock_all(size_t lookups);
  enum class Ending : uint8_t {
    commit,  ///< ends the statement here, and with it the read view
    ended,   ///< another object has done so
  };
  void unlock_all(Ending ending);

  /// Whether another session waits for a table that is open here.
  bool wanted_by_others() const;
  /// Gives up all tables and metadata locks. Called only if all open tables were opened here.
  void release_all();
  /// Gives up all tables, and leaves the metadata locks to the objects that have other tables open.
  void close_all();
  bool any_open() const { return open_count_ != 0; }
  /// Whether a table is open that must be closed at the end of its statement.
  static constexpr bool must_close() { return false; }
  /// Whether more tables are open, or they hold more memory, than should be kept until the next batch.
  bool holds_much() const { return holds_much_ || open_count_ > limits::tables_open_max; }
  /// Called before the thread sleeps: like release_all(), and also drops most of the index caches if they are large.
  void go_idle();
  /// Whether those index caches are large.
  bool knows_much() const { return open_.has_much(); }

 private:
  void open(OpenTable &table);
  bool take(OpenTable &table, OpenAttempt attempt);
  void set_read_set(OpenTable &table);
  void want_positions(OpenTable &table);

  THD *thd_;
  Counters *const counters_;
  const std::function<void()> give_up_all_;
  uint64_t batch_ = 0;
  size_t open_count_ = 0;
  bool holds_much_ = false;
  OpenTables open_;
  std::vector<OpenTable *> used_;  // in this batch
  std::vector<TABLE *> to_lock_;   // in this batch
  MYSQL_LOCK *lock_ = nullptr;     // this batch's
};

}  // namespace postern::mysqld
