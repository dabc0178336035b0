// table.h: one executor's view of the tables that are open: opening by spec, resolving names, giving way to DDL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/limits.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/rows/opened_index.h"
#include "engine/sql/known_tables.h"
#include "engine/sql/specs.h"

namespace postern::mariadb {

using rows::WriteTable;

using sql::Spec;
using sql::Specs;

/// One spec resolved in an open table, with the parts specific to this server.
class OpenTable final : public rows::OpenedIndex {
 public:
  explicit OpenTable(Spec *its_spec) : OpenedIndex(its_spec, sizeof(OpenTable)) {}

  Field *versioning_end = nullptr;  ///< a row is current while this field is at its maximum
  bool covering = false;            ///< the index alone holds every column wanted
  bool locked = false;              ///< in this batch
  MYSQL_LOCK *lock = nullptr;       ///< this batch's lock, unless the storage engine was locked directly
  bool lock_type_known = false;     ///< store_lock() was called since the open

  /// Whether the table may have history rows, as noted by find_history(), and whether the row in record[0] is current.
  bool has_history() const { return versioning_end != nullptr; }
  void find_history() { versioning_end = table->s->versioned != VERS_UNDEFINED ? table->vers_end_field() : nullptr; }
  bool row_is_current() const { return versioning_end->is_max(); }

 private:
  friend class Tables;
  TABLE_LIST list_;
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

  /// Called after ServerThread::renew(); nothing may be open.
  void set_thd(THD *thd) { thd_ = thd; }

  void begin_batch() {
    ++batch_;
    if (open_.worth_a_look()) forget_retired();
  }
  /// Makes sure that the table of `spec` is open, its names resolved, for the running batch. `positions` asks for a
  /// read set from which a scan can be resumed, or compared with bounds. State `again`: everything was given up;
  /// prepare every table of the batch anew.
  OpenTable &prepare(Spec *spec, bool positions) {
    OpenTable *const table = prepared(spec);
    const bool done = table != nullptr && table->state != TableState::again && (table->positions || !positions);
    return done ? *table : prepare_anew(spec, positions);
  }
  /// The result of prepare() in this batch; nullptr if it was not called, or everything was given up since.
  OpenTable *prepared(const Spec *spec) {
    OpenTable *const table = open_.find(spec->id());
    return table != nullptr && table->serial == spec->serial() && table->batch == batch_ ? table : nullptr;
  }
  /// Locks the prepared tables; one that cannot be locked now becomes busy or failed. `lookups`: roughly how many keys
  /// the batch looks up.
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
  /// Gives up all tables, and leaves the metadata locks to the objects that have other tables open: releasing a lock
  /// before its table lets DDL in, which then waits for ever for that table.
  void close_all();
  bool any_open() const { return open_count_ != 0; }
  /// Whether a table is open that must be closed at the end of its statement.
  bool must_close() const { return must_close_; }
  /// Whether more tables are open, or they hold more memory, than should be kept until the next batch.
  bool holds_much() const { return holds_much_ || open_count_ > limits::tables_open_max; }
  /// Called before the thread sleeps: like release_all(), and also drops most of the index caches if they are large.
  void go_idle();
  /// Whether those index caches are large.
  bool knows_much() const { return open_.has_much(); }

 private:
  static void count(OpenTable &table);
  void forget_retired();
  OpenTable &prepare_anew(Spec *spec, bool positions);
  void open(OpenTable &table);
  bool take(OpenTable &table, OpenAttempt attempt);
  void set_read_set(OpenTable &table);
  void lock(OpenTable &table);

  THD *thd_;
  Counters *const counters_;
  const std::function<void()> give_up_all_;
  uint64_t batch_ = 0;
  size_t open_count_ = 0;
  bool must_close_ = false;
  bool holds_much_ = false;
  OpenTables open_;
  std::vector<OpenTable *> used_;  // in this batch
};

}  // namespace postern::mariadb
