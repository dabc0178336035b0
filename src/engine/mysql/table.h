// table.h: one executor's view of the tables that are open: opening by spec, giving way to DDL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/limits.h"
#include "contract/kept_spec.h"
#include "engine/mysql/opening.h"
#include "engine/rows/row.h"
#include "engine/sql/known_tables.h"
#include "engine/sql/specs.h"
#include "engine/sql/storage_engine.h"

namespace postern::rows {
class WriteTable;
}

namespace postern::mysqld {

using rows::WriteTable;
using sql::Spec;
using sql::Specs;

/// What one spec means in an open table. For reading, the TABLE instance is its own, with its own read set and its own
/// index cursor; for writing, all specs share one. Belongs to one executor and is used on its thread only.
class OpenTable {
 public:
  explicit OpenTable(Spec *its_spec);

  const uint32_t id;      ///< the spec's that this was made for
  const uint64_t serial;  ///< the spec's that this was made for
  const std::string database;
  const std::string name;
  const KeptSpec spec;                            ///< the names it was opened by
  const std::shared_ptr<sql::SpecCounts> counts;  ///< the spec's that this was made for

  uint64_t batch = 0;  ///< the last batch that used it
  TableState state = TableState::failed;
  Failure failure = Failure::none;
  sql::ServerError error;  ///< the server's error for `failure`

  bool admitted = false;                       ///< its names are such that may be opened
  TABLE *table = nullptr;                      ///< nullptr while not open
  const sql::StorageEngine *engine = nullptr;  ///< nullptr for one that may not be opened
  bool resolved = false;                       ///< what follows is known for `table`, or for the last one
  uint32_t index = 0;                          ///< position in TABLE::key_info
  std::vector<uint16_t> columns;               ///< positions in TABLE::field
  std::vector<uint16_t> filter_columns;        ///< likewise
  bool unique = false;                         ///< the whole key, without NULL, names at most one row
  bool repeats = false;                        ///< a find that is done again in the same batch finds the same
  std::string definition;                      ///< the version of the table's definition that all this was found in
  RowReader reader;
  std::vector<uchar> key;  ///< room for one key

  // For a table open for writing.
  WriteTable *target = nullptr;  ///< shared with other specs

  bool positions = false;       ///< the read set has the columns of a Position
  bool key_is_read = false;     ///< the read set has the columns of the index, for row_matches()
  bool has_large_rows = false;  ///< the row read last was one

  // In this batch, for people.
  uint64_t finds = 0;
  uint64_t rows_examined = 0;

  const size_t bytes;  ///< of memory, about

  KEY &key_info() const { return table->key_info[index]; }
  handler &file() const { return *table->file; }
  /// MySQL keeps no rows that are no longer.
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
  /// `give_up_all` gives up every table and metadata lock of the thread: those of others, too.
  Tables(THD *thd, Specs &specs, Counters *counters, std::function<void()> give_up_all)
      : thd_(thd), counters_(counters), give_up_all_(std::move(give_up_all)), open_(specs) {}
  ~Tables();
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;

  /// After ServerThread::renew(); nothing may be open. nullptr: there is none any more.
  void set_thd(THD *thd) { thd_ = thd; }

  void begin_batch();
  /// Makes sure that the table of `spec` is open, its names resolved, for the running batch. `positions` asks for
  /// a read set from which a scan can be resumed, or compared with bounds. State `again` means: all was given up,
  /// prepare every table of the batch anew. Throws std::bad_alloc.
  OpenTable &prepare(Spec *spec, bool positions);
  /// What prepare() returned in this batch; nullptr if it was not called, or everything was given up since.
  OpenTable *prepared(const Spec *spec) {
    OpenTable *const table = open_.find(spec->id());
    return table != nullptr && table->serial == spec->serial() && table->batch == batch_ ? table : nullptr;
  }
  /// Locks the prepared tables; where that fails, all tables of the batch become busy or failed.
  void lock_all(size_t lookups);
  enum class Ending : uint8_t {
    commit,  ///< ends the statement here, and with it the read view
    ended,   ///< somebody has done so
  };
  void unlock_all(Ending ending);

  /// Somebody waits for a table that is open here.
  bool wanted_by_others() const;
  /// Gives up all tables and metadata locks. To be called only when no table is open that is not opened here.
  void release_all();
  /// Gives up all tables, and leaves the metadata locks to whoever has others open.
  void close_all();
  bool any_open() const { return open_count_ != 0; }
  /// A table is open that must be closed when its statement is over.
  static constexpr bool must_close() { return false; }
  /// More tables are open, or those that are hold more, than should be kept until the next batch.
  bool holds_much() const { return holds_much_ || open_count_ > limits::tables_open_max; }
  /// The thread is about to sleep: gives up everything that release_all() does, and most of the index caches if those
  /// are large.
  void go_idle();

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
