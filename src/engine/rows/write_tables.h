// write_tables.h: the tables that one run writes to, from opening to commit. Nothing stays open when a run is over.
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

  bool admitted = false;              ///< its names are such that may be opened
  uint64_t batch = 0;                 ///< the last run that asked for it
  OpenAttempt attempt;                ///< how that went
  TABLE *table = nullptr;             ///< while open
  bool inserts_need_own_run = false;  ///< a row that is inserted may not share a transaction with other ops
  bool edits_need_own_run = false;    ///< nor one that is changed or deleted
  bool changed = false;               ///< by this run
  bool rows_were_there = false;       ///< the last insert that may update has met its row
  uint8_t events = 0;                 ///< what this run may do to it, as trg_event_map; run alone

  /// Somebody holds the table's AUTO-INC lock, as a bulk insert does until its end. An insert waits for it, and so
  /// inserts keep away from others' runs for a while.
  void note_autoinc_held(uint64_t now_us) { autoinc_held_until_us_ = now_us + limits::autoinc_held_ms * 1000; }
  bool autoinc_may_be_held() {
    if (autoinc_held_until_us_ == 0) return false;
    if (interval_us() < autoinc_held_until_us_) return true;
    autoinc_held_until_us_ = 0;
    return false;
  }

  /// The use that the column bitmaps are set for; any other use has to set them anew.
  enum class Marked : uint8_t { nothing, insert, edit };
  Marked marked = Marked::nothing;
  const OpenTable *marked_for = nullptr;
  const void *marked_by = nullptr;  ///< for a recognised statement; nobody else marks columns in its run
  size_t marked_values = 0;         ///< for an insert, which may give the first few columns only
  bool rest_is_good = false;        ///< the columns that it gives no value have one, as far as is known before triggers

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

  /// `alone`: the run has one op or one unit, and its tables may be such that cannot be shared: triggers are provided
  /// for. Then prepare() only lists what open_listed() opens.
  void begin(THD *thd, bool alone);
  /// Makes sure that the table of `spec` is open for `verb` in this run. State `again` means: everything of the thread
  /// was given up by `give_up_all`; begin() anew.
  OpenTable &prepare(Spec *spec, Verb verb, const std::function<void()> &give_up_all);
  /// The same for a table by its names as the server's caches have them, to change rows of in a run that is not
  /// `alone`: see WriteTable::attempt, and locked() after lock_all().
  WriteTable &prepare(const std::string &database, const std::string &name, const std::function<void()> &give_up_all);
  /// Opens the listed tables. No other table of the thread may be open.
  void open_listed();
  /// What prepare() returned in this run, or nullptr.
  OpenTable *prepared(const Spec *spec);
  /// Locks the prepared tables; one that cannot be had now becomes busy or failed.
  void lock_all();

  /// Ends the transaction. A commit that fails has undone everything, and the settlement says why: table_busy where a
  /// backup lets nobody commit just now.
  Settlement commit();
  void roll_back();
  /// Closes every table of the thread, also those that others opened, and gives up all metadata locks, which a script's
  /// transaction keeps. Does nothing when no run has begun since.
  void close();

  // A script's transaction, of several such runs: commit() and roll_back() end a step of it. None may have begun.

  void begin_script(THD *thd, Certification &certification);
  /// False if that failed, and the transaction has to be rolled back.
  bool set_mark(THD *thd, uint8_t depth);
  bool go_back_to_mark(THD *thd, uint8_t depth);
  /// Whether the steps since the last call have changed anything.
  bool take_changed() { return std::exchange(step_changed_, false); }
  /// A settlement that has lasted becomes the commit's, unless everything has to be undone.
  void end_script(THD *thd, Certification &certification, Settlement &settlement, bool undo);

  /// The thread is about to sleep: gives back the index caches if they are large.
  void go_idle() { bound_.forget_most(); }
  bool knows_much() const { return bound_.has_much(); }

  /// The executor's.
  Counters &counters() const { return *counters_; }

  bool any_open() const { return !open_.empty(); }
  bool locked() const { return locked_; }
  /// Whether a rollback brings back the rows of all tables that are open.
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
  bool script_changed_ = false;        // something, in the steps that were committed
  bool step_changed_ = false;          // the same, until it is asked for
  Verb verb_ = Verb::edit;             // the last listed table's
  std::vector<WriteTable *> to_open_;  // listed
  uint32_t listed_ = 0;                // tables in the server's list, with those that triggers and keys need
  OpenTables bound_;
  std::vector<std::unique_ptr<WriteTable>> targets_;
  std::vector<WriteTable *> open_;  // in this run
  std::vector<OpenTable *> used_;   // in this run
};

}  // namespace postern::rows
