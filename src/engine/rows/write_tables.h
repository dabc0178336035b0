// write_tables.h: WriteTables, the tables that one run writes to, from opening to commit. None stays open after a run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/limits.h"
#include "contract/executor.h"
#include "engine/server/cluster.h"
#include "engine/server/differences.h"
#include "engine/server/opening.h"
#include "engine/sql/specs.h"
#include "engine/server/table.h"

namespace postern::rows {

using sql::OpenAttempt;
using sql::TableState;

/// A table open for writing, shared by all specs that name it.
class WriteTable {
 public:
  WriteTable(std::string its_database, std::string its_name)
      : database(std::move(its_database)), name(std::move(its_name)) {}

  const std::string database;
  const std::string name;

  bool admitted = false;              ///< its names may be opened
  uint64_t batch = 0;                 ///< the last run that used it
  OpenAttempt attempt;                ///< the result in that run
  TABLE *table = nullptr;             ///< while open
  bool inserts_need_own_run = false;  ///< an insert may not share a transaction with other ops
  bool edits_need_own_run = false;    ///< nor may a change or a deletion
  bool changed = false;               ///< by this run
  bool rows_were_there = false;       ///< the last insert that may update met an existing row
  uint8_t events = 0;                 ///< this run's kinds of changes, as trg_event_map; for runs alone

  /// Another session holds the table's AUTO-INC lock, as a bulk insert does until its end. Inserts would wait for it,
  /// so they stay out of shared runs for a while.
  void note_autoinc_held(uint64_t now_us) { autoinc_held_until_us_ = now_us + limits::autoinc_held_ms * 1000; }
  bool autoinc_may_be_held() {
    if (autoinc_held_until_us_ == 0) return false;
    if (interval_us() < autoinc_held_until_us_) return true;
    autoinc_held_until_us_ = 0;
    return false;
  }

  /// The use for which the column bitmaps are set; any other use has to set them anew.
  enum class Marked : uint8_t { nothing, insert, edit };
  Marked marked = Marked::nothing;
  const OpenTable *marked_for = nullptr;
  const void *marked_by = nullptr;  ///< for a recognised statement; nothing else marks columns in its run
  size_t marked_values = 0;         ///< for an insert, which may give the first few columns only
  bool rest_is_good = false;        ///< all other columns have a default, as far as is known before triggers

 private:
  friend class WriteTables;
  TableRef list_;
  uint64_t autoinc_held_until_us_ = 0;
};

/// All tables of one executor's writes. A run is: begin(), prepare() for every write, open_listed(), lock_all(), the
/// writes, then commit() or roll_back(), then close().
class WriteTables {
 public:
  WriteTables(Specs &specs, Counters *counters) : counters_(counters), bound_(specs) {}
  WriteTables(const WriteTables &) = delete;
  WriteTables &operator=(const WriteTables &) = delete;

  /// `alone`: the run has one op or one unit, so its tables may have triggers. Then prepare() only lists tables, which
  /// open_listed() opens.
  void begin(THD *thd, bool alone);
  /// Makes sure that the table of `spec` is open for `verb` in this run. State `again`: `give_up_all` has given up all
  /// tables of the thread; begin() anew.
  OpenTable &prepare(Spec *spec, Verb verb, const std::function<void()> &give_up_all);
  /// The same for a table named as in the server's caches, for changes in a run that is not `alone`: see
  /// WriteTable::attempt, and locked() after lock_all().
  WriteTable &prepare(const std::string &database, const std::string &name, const std::function<void()> &give_up_all);
  /// Opens the listed tables. No other table of the thread may be open.
  void open_listed();
  /// The result of prepare() in this run, or nullptr.
  OpenTable *prepared(const Spec *spec);
  /// Locks the prepared tables; one that cannot be locked now becomes busy or failed.
  void lock_all();

  /// Ends the transaction. A failed commit has undone everything, and the settlement has the reason: table_busy if a
  /// backup blocks commits.
  Settlement commit();
  void roll_back();
  /// Closes every table of the thread, whoever opened it, and releases all metadata locks, except in a script's
  /// transaction. Does nothing if no run has begun since.
  void close();

  // Begins a script's transaction of several such runs: commit() and roll_back() then end a step. No run may be under
  // way.

  void begin_script(THD *thd, Certification &certification);
  /// False if that failed and the transaction has to be rolled back.
  bool set_mark(THD *thd, uint8_t depth);
  bool go_back_to_mark(THD *thd, uint8_t depth);
  /// Whether the steps since the last call have changed anything.
  bool take_changed() { return std::exchange(step_changed_, false); }
  /// Ends the transaction; a settlement that lasted becomes that of the commit, unless everything has to be undone.
  void end_script(THD *thd, Certification &certification, Settlement &settlement, bool undo);

  /// Called before the thread sleeps: frees the index caches if they are large.
  void go_idle() { bound_.forget_most(); }
  bool knows_much() const { return bound_.has_much(); }

  /// The executor's.
  Counters &counters() const { return *counters_; }

  bool any_open() const { return !open_.empty(); }
  bool locked() const { return locked_; }
  /// Whether a rollback restores the rows of all open tables.
  bool can_undo_all() const;

 private:
  WriteTable *find_target(const std::string &database, const std::string &name);
  void open(WriteTable &target, const std::function<void()> &give_up_all);
  OpenAttempt open_together(std::span<WriteTable *const> targets);
  void opened(WriteTable &target);
  void close_together();
  void bind(OpenTable &table, WriteTable &target);
  void end_statement();
  void take_words(THD *thd, Settlement &settlement);
  Settlement failed_commit(THD *thd, Settlement settlement);
  bool commits_are_blocked();
  Settlement commit_script(THD *thd);

  THD *thd_ = nullptr;  // from begin() to close()
  Counters *const counters_;
  uint64_t batch_ = 0;
  bool alone_ = false;
  bool locked_ = false;
  bool commits_were_blocked_ = false;
  bool script_changed_ = false;        // whether the committed steps have changed anything
  bool step_changed_ = false;          // the same, until the next call
  Verb verb_ = Verb::edit;             // the last listed table's
  std::vector<WriteTable *> to_open_;  // listed
  uint32_t listed_ = 0;                // tables in the server's list, with those that triggers and keys need
  OpenTables bound_;
  std::vector<std::unique_ptr<WriteTable>> targets_;
  std::vector<WriteTable *> open_;  // in this run
  std::vector<OpenTable *> used_;   // in this run
};

}  // namespace postern::rows
