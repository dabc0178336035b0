// executor.h: an engine as a worker sees it: Engine, which lets threads in, and Executor, one thread's way to the
// tables.
//
// The promises below are tested for every engine by the suites in contract/testing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "contract/op.h"
#include "contract/server_session.h"
#include "contract/unit.h"

namespace postern {

enum class Access : uint8_t { read, write };

/// The thread that attaches. Everything outlives the executor.
struct ThreadIdentity {
  Access access = Access::read;
  const char *name = "";         ///< shown to administrators, e.g. "ping worker 3"
  int wake_fd = -1;              ///< an eventfd the engine writes to when the thread should ask server_stopping()
  Counters *counters = nullptr;  ///< this thread's shard
  /// Called when the thread that has the executor waits, if Engine::tells_of_waits(); nullptr: none.
  WaitListener *listener = nullptr;
};

/// Counts a client's failed request. A protocol notes its own refusals on the output, because not every one is an error
/// in its terms.
inline void count_failure(Counters &counters, const Op &op, Failure failure) {
  if (op.internal || op.tentative || failure == Failure::refused) return;
  counters.add(failure);
  counters.add(Counter::requests_failed);
}

/// The outcome of a run as a whole.
struct Settlement {
  Failure failure = Failure::none;  ///< anything else: the run is lost; table_busy: commits are blocked at present
  int32_t engine_code = 0;          ///< as in Outcome
  std::string message{};            ///< as in Outcome
  SqlError server_error{};          ///< as in Outcome
  /// False: run nothing again. A part of it could not be undone, or its outcome is unknown.
  bool repeatable = true;

  /// False: nothing that the run wrote remains, and none of its replies may leave. Its ops can be run again.
  bool lasted() const { return failure == Failure::none; }
  /// The outcome for an op of a lost run that is not run again. Borrows from the settlement.
  Outcome outcome() const {
    return {.failure = failure, .engine_code = engine_code, .message = message, .server_error = server_error};
  }
};

/// Watches a run while it goes on, on the run's thread.
class Watcher {
 public:
  virtual ~Watcher() = default;

  /// `op`, in a run without writes, is done: its reply may leave, however the run ends; but see Op::unflushed.
  virtual void op_done(const Op &op) = 0;
};

/// Where a run takes place, which bounds its work.
enum class Lane : uint8_t {
  turn,   ///< in a worker's turn, which many connections share: bounded work, no long wait
  alone,  ///< in the slow lane, one op or one unit, with a thread to itself for as long as its reply lets it
};

/// The ops of one run. Everything is borrowed until run() returns.
struct Run {
  std::span<Op> ops;
  std::span<const Unit> units{};  ///< in order; an op in none of them is by itself
  Lane lane = Lane::turn;
  /// Called for each op that is done before the next begins; for the ops of a unit when the unit is done; never in a
  /// run that writes.
  Watcher *watcher = nullptr;
  /// Whether session commits may be left Op::unflushed: the caller then sees that Engine::flush() is called before
  /// their answers leave.
  bool answers_may_wait = false;
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs the ops in order and sets each op's progress. Its promises, and the tests that show them: in the suites in
  /// contract/testing (run over the fake engine and inside the server), and a few of the server's own in
  /// tests/contract.
  ///
  /// Order and outcome
  ///  1. Every op either hears Reply::done() exactly once (progress done) or is left for later.
  ///     [Turns.RunsOpsInOrderAndEachIsDoneOnce]
  ///  2. If an op is left, later ops of its connection are left waiting; other connections go on.
  ///     [Turns.ABusyTableLeavesNothingWrittenAndNeighboursGoOn]
  ///  3. An op can be run again, by any executor, after its replies have heard restart(). [Turns.OpsCanBeRunAgain,
  ///     Turns.AnotherExecutorServesTheSlotsOfThisOne]
  ///  4. A watcher hears of each op as it is done, and of none of a run that writes.
  ///     [Turns.AWatcherHearsOfWhatIsDoneAndOfNothingElse, Writes.AWatcherHearsNothingOfARunWithWrites]
  ///  5. It throws nothing. A run that runs out of memory is lost as out_of_memory, and holds nothing.
  ///     [no_memory_test.cc of the door]
  /// Views and transactions
  ///  6. All finds of one run, or of one step of a script, read one consistent view that is opened after run() was
  ///     entered; the run's own writes are in it. [Writes.ARunSeesWhatItWritesAndOthersDoAfterIt,
  ///     ServerScripts.ALockReadsTheCurrentRowsAndAFindTheViewOfItsStep]
  ///  7. So a find may be answered with the bytes of an equal one (Reply::take).
  ///     [Turns.EqualFindsAreAnsweredAlikeAndOthersNot, Writes.EqualFindsSeeWhatWasWrittenBetweenThem]
  ///  8. All writes of one run are one transaction, committed when run() returns. A write that fails is undone by
  ///     itself. [Writes.AWriteThatFailsIsUndoneByItself, Writes.SeveralRowsAreEditedAloneAndAllOrNone]
  ///  9. If the transaction is lost as a whole (deadlock, refused commit) the settlement says so, and nothing of it is
  ///     there. [ServerUnits.AUnitThatMeetsADeadlockIsLostAsAWholeAndCanBeRunAgain,
  ///     ServerUnits.KillOfTheThreadLeavesNothingOfAUnit]
  /// Units
  /// 10. A unit is done as a whole or left as a whole: with nothing of it in the table and nothing heard, its first op
  ///     says why and the others wait. [Units.AUnitWhoseTableIsHeldIsLeftAsAWhole,
  ///     ServerUnits.AUnitThatMeetsALockedRowIsLeftAsAWhole]
  /// 11. In a turn one that writes is left, to be run in Lane::alone.
  ///     [Units.InATurnAUnitThatWritesIsLeftAndItsNeighboursGoOn]
  /// 12. If an op of an atomic unit fails, nothing of the unit is in the table: all its replies hear restart(), and
  ///     then that failure. [Units.NothingOfAnAtomicUnitStaysIfAnOpOfItFails, Units.AnAtomicUnitMayNotMeetItsOwnRow]
  /// 13. If it is not atomic, an op that fails is undone by itself and the others are committed together.
  ///     [Units.OfAUnitThatIsNotAtomicTheFailedOpsAloneAreUndone]
  /// 14. A unit has no bound on its ops, and its replies are whole or fail: none is paused.
  ///     [Units.AUnitMayBeLargerThanABatch, Units.AReplyThatMayGrowNoMoreFailsInAUnit]
  /// Locks
  /// 15. A lock finds the current rows. Until its transaction ends nobody else changes or deletes those rows, nor
  ///     inserts one where it found none. In a turn it is left. [Scripts.ALockFindsWhatAFindDoes,
  ///     ServerScripts.LockedRowsAndAbsentRowsStayAsTheyAreUntilTheEnd,
  ///     ServerScripts.ALockInAUnitKeepsARowFromComing]
  /// Scripts
  /// 16. A script is asked for each step when all replies of the one before have heard how that ended, until it is
  ///     over; then its own reply hears done(). [Scripts.AScriptSaysItsNextStepWhenItHasHeardOfTheLast]
  /// 17. All its steps are one transaction. If an op of a step fails, nothing of the step is in the table: all replies
  ///     of the step hear restart(), and then that failure. [Scripts.AStepThatFailsIsUndoneByItselfAndTheScriptGoesOn,
  ///     Scripts.BackLeavesWhatWasDoneBeforeTheMark, Scripts.NothingStaysOfAScriptThatIsUndone,
  ///     ServerScripts.TriggersAreUndoneWithTheStepThatFiredThem]
  /// 18. A script that cannot go on (its table or a row is held, a deadlock, KILL) is left or lost as a whole, with
  ///     nothing of it in the table, and begins anew in its next run. KILL QUERY ends it.
  ///     [Scripts.AScriptWhoseTableIsHeldIsLeftAndBeginsAnew,
  ///     ServerScripts.AScriptThatMeetsALockedRowIsLeftWithNothingOfIt,
  ///     ServerScripts.AScriptThatMeetsADeadlockIsLostAsAWholeAndBeginsAnew, ServerScripts.KillLeavesNothingOfAScript,
  ///     ServerScripts.AScriptGivesWayToAnAlterThatCameFirstAndBeginsAnew]
  /// 19. In a turn one that does not suit it is left, as is a write with an edit that asks for its script; one that
  /// suits it
  ///     shares the transaction of its run, and takes that along where it cannot be undone by itself.
  ///     [Scripts.InATurn*, Scripts.WhatIsTooMuchForATurnIsLeftWithItsScript,
  ///     Scripts.AnEditMayAskForItsScriptWhichIsRunInItsPlace, ServerScripts.InATurn*]
  /// The limits of a turn
  /// 20. A write that may have to be undone together with others, or has effects that cannot be undone, is left: it
  ///     needs a run of its own, in Lane::alone. So does a login, which may wait for name servers and whatever verifies
  ///     passwords. [Writes.AllRowsCanBeErasedAtOnce] And so does a statement without a plan that holds, which is not
  ///     run in any lane but by ServerSession::serve(). [Turns.AStatementWithoutAPlanIsLeftAndNeighboursGoOn]
  /// 21. A find is bounded by limits::find_rows_fast_max and find_bytes_fast_max, and together with others by
  ///     batch_rows_max and batch_large_bytes_max. [Turns.WhatIsTooMuchForATurnIsPausedAndTheRestWaits,
  ///     Turns.AReplyMayPauseAFindInAFastTurn]
  /// Waiting, and for how long
  /// 22. A write that meets a row lock waits for it, in a turn for no more than limits::row_wait_fast_ms in all, in the
  ///     slow lane for as long as allow_row_wait() said, or as long as the work took that would have to be done again;
  ///     then it is left locked. [ServerUnits.AUnitThatMeetsALockedRowIsLeftAsAWhole]
  /// 23. In Lane::alone a find may run as long as its reply lets it, and pauses when somebody waits for its table.
  ///     [Turns.AResumedFindEqualsAnUninterruptedOne]
  /// 24. About every limits::rows_between_looks rows that it examines it asks Reply::still_wanted(), so that one
  ///     without matches ends or pauses, too. A resumed find passes its saved position before it asks again.
  ///     [Turns.AFindWithoutMatchesAsksItsReplyWhetherToGoOn]
  /// 25. It never waits otherwise for a lock that SQL may hold for long. [Writes.ABusyTableLeavesAWriteForLater]
  /// Accounts
  /// 26. What an account may do is looked at for each op; a privilege taken away holds within a second.
  ///     [ServerTables.DecidingTakesThePrivilegesOfItsChanges]
  virtual Settlement run(const Run &run) = 0;
  /// run() for a turn's only op, a command of a server session that has no plan: it is done or left, and never lost.
  /// `answer_may_wait`: see Run.
  virtual void run_command(Op &op, bool answer_may_wait) {
    if (!run({.ops = {&op, 1}, .answers_may_wait = answer_may_wait}).lasted()) op.progress = Progress::needs_own_run;
  }

  /// About to sleep: hold no table, no metadata lock and no read view from here to the next run().
  virtual void idle() noexcept = 0;

  /// Whether the last run has left tables open for the next one, which idle() would give up.
  virtual bool keeps_tables() const noexcept { return true; }

  /// About to sleep for a while: as idle(), but it may keep tables if it is called again within the returned
  /// milliseconds: others get the tables in that time; 0: it holds nothing.
  virtual int rest() noexcept {
    idle();
    return 0;
  }

  /// An executor is used, and destroyed, by one thread at a time. The thread that has it leaves it, when idle, before
  /// another enters; in between the thread may serve a server session. [crew_test.cc of the door, and of
  /// tests/integration/sql]
  virtual void leave_thread() noexcept {}
  virtual void enter_thread() noexcept {}

  /// True: the server is going down; destroy the executor now, on its thread. Ask after a wake-up and after run().
  virtual bool server_stopping() noexcept = 0;

  /// Milliseconds after which a write that finds its row locked again and again should fail: the server's current lock
  /// wait timeout.
  virtual int64_t row_wait_ms() noexcept = 0;

  /// From now on a write in the slow lane may wait `ms` milliseconds for row locks; 0: it is left at once. Before the
  /// first call limits::row_wait_slow_ms. An engine without such waits may ignore it.
  virtual void allow_row_wait(int ms) noexcept { static_cast<void>(ms); }

  /// Shows the thread's current work in the process list; `text` is copied.
  virtual void describe(Bytes text) noexcept = 0;

  /// Hides the idle thread from the process list until the next run() or describe(); another thread's text stands for
  /// it. [test_lifecycle.py of tests/integration/door] An engine without such a list may ignore it.
  virtual void hide() noexcept {}
};

/// An open index with a set of columns, as INFORMATION_SCHEMA shows it.
struct OpenIndexNotes {
  std::string database;
  std::string table;
  std::string index;
  std::string columns;  ///< separated by commas, as are the next
  std::string filter_columns;
  uint64_t users = 0;  ///< how many slots have it open
  uint64_t finds = 0;
  uint64_t rows_examined = 0;
  uint64_t writes = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  /// Whether the server is up, so that attach() does not wait.
  virtual bool up() const = 0;

  /// Called on the thread that will use the executor. Waits until the server is ready to be used; returns nullptr
  /// if it goes down instead or if `stop` becomes true. `stop` outlives the executor; once it is true a scan pauses.
  virtual std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) = 0;

  /// A server session for a client that has just connected; nullptr: the engine has none. Any thread.
  virtual std::unique_ptr<ServerSession> host() { return nullptr; }

  /// Whether a commit may wait without a bound, for a disk, a replica or another node. A thread that serves clients
  /// makes no commit then. Any thread; called for each turn that writes.
  virtual bool commits_may_wait() const { return true; }
  /// Waits until every earlier commit (Op::unflushed) is on disk. False: that is unknown. On a thread that has an
  /// executor.
  virtual bool flush() { return true; }

  /// Whether ThreadIdentity::listener and Statement::listener are called when a thread waits in the server, for a lock
  /// or a disk.
  virtual bool tells_of_waits() const { return false; }

  /// A connection id that no server session has. Any thread.
  virtual uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  /// The indexes that sessions have open. Any thread. Throws std::bad_alloc.
  virtual std::vector<OpenIndexNotes> open_indexes() const { return {}; }
};

}  // namespace postern
