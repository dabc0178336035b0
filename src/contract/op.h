// op.h: Op, one parsed request, and its parts.
//
// Everything an op points to lives in the batch's arena or in the connection's input, and so until the batch is
// settled. Ops are plain values: they can be run again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/failure.h"
#include "contract/access.h"
#include "contract/edit.h"
#include "contract/reply.h"
#include "contract/table.h"
#include "contract/value.h"

namespace postern {

class Script;
struct Statement;

enum class Verb : uint8_t {
  answer,  ///< needs no engine, but keeps its place in line; fails with Op::failure
  open,    ///< fills Op::slot from Op::spec
  find,    ///< reads rows by key
  insert,  ///< writes a new row
  edit,    ///< finds rows as a find does, locks them and changes or deletes them
  lock,    ///< finds rows as they are now, and locks them, as SELECT ... FOR UPDATE: in units and scripts
  script,  ///< steps of one transaction, which Op::script returns one by one
  login,   ///< verifies Op::login and sets Op::identity to that account, or to none; may take long
  /// A command for the connection's own server session: answered in a turn if it has a valid plan, else left for the
  /// server.
  statement,
};

enum class Comparison : uint8_t {
  equal,
  greater,
  at_least,
  less,
  at_most,
  unequal,  ///< filters only
  never,    ///< filters only: an unknown operator, true for no row
};

/// Keeps or drops a row by the value of one filter column. NULL equals NULL and sorts below every value.
struct Filter {
  enum class Miss : uint8_t {
    skip,  ///< a row that fails is left out
    stop,  ///< a row that fails ends the find
  };
  Miss miss = Miss::skip;
  Comparison comparison = Comparison::equal;
  uint32_t column = 0;  ///< position in TableSpec::filter_columns
  Value value{};
};

/// Reads rows along one index.
///
/// Verb::lock reads the newest rows, not those of the run's view. Until the transaction ends no other transaction can
/// change or delete them, or insert one that the find would have found: gaps are locked, too.
///
/// `at_least` and `at_most` without a key read the whole index. `equal` reads the rows with `key` in their first key
/// parts; `greater` and `at_least` walk the index upwards from there, `less` and `at_most` downwards. With an IN list
/// the value at `in_part` of the key is replaced by each value of the list in turn: every row of each for `equal`, the
/// first row of each for the others.
///
/// `until` bounds the walk at its far end: upwards, rows with first key parts above it are left out, downwards those
/// below it. NULL is below every value there, too, so that a walk without a key but with an `until` begins with NULL on
/// the way up.
/// With `prefix` the last value of `key` is the beginning of a text. Rows are found if their first key parts equal the
/// other values, and the next one begins with that text as in `LIKE 'text%'`, in the column's collation and with no
/// wildcards in the text; downwards with `at_most`, else upwards. NULL begins no row.
struct Find {
  Comparison comparison = Comparison::equal;
  uint32_t in_part = 0;
  std::span<const Value> key{};
  std::span<const Value> in_list{};  ///< empty: no IN list
  uint64_t limit = 1;                ///< rows wanted, counted after filters; at least 1
  uint64_t offset = 0;               ///< rows to leave out first, counted after filters
  std::span<const Filter> filters{};
  std::span<const Value> until{};  ///< the far end, of any number of key parts; empty: the index's own
  bool until_included = true;      ///< whether rows that equal `until` are found
  bool prefix = false;             ///< not with `greater` or `less`
  bool shape_wanted = false;       ///< Verb::find: the reply gets Reply::shape()
  /// Verb::find: reads no rows. Outcome::rows is the storage engine's estimate from a few index pages, which includes
  /// rows deleted lately. Only upwards, with an `until`, and with no other member.
  bool estimated = false;
};

/// The error in the bounds of a find, whatever its index; none if they are right. An IN list has no bounds.
constexpr Failure wrong_ends(const Find &find) {
  if (find.estimated && (find.until.empty() || find.prefix || !find.in_list.empty() || !find.filters.empty() ||
                         find.offset != 0 || find.comparison != Comparison::at_least))
    return Failure::syntax;
  if (!find.prefix && find.until.empty()) return Failure::none;
  if (!find.in_list.empty()) return Failure::syntax;
  if (!find.prefix) return Failure::none;
  if (find.key.empty()) return Failure::no_key_values;
  return find.comparison == Comparison::greater || find.comparison == Comparison::less ? Failure::syntax
                                                                                       : Failure::none;
}

/// What an insert does if a row has the same value in a unique key.
enum class OnDuplicate : uint8_t {
  fail,
  ignore,  ///< nothing happens
  update,  ///< that row takes the values given
  decide,  ///< Insert::edit sees that row, locked, and writes its draft or keeps the row
};

/// Writes one row. Columns that are given no value take their defaults.
///
/// Where the index was opened with TableSpec::key_columns, `update` and `decide` apply to the row with that key only: a
/// conflict in another unique key fails the insert as duplicate_key.
struct Insert {
  std::span<const Value> values{};  ///< for the first of TableSpec::columns, in their order; no more than there are
  OnDuplicate on_duplicate = OnDuplicate::fail;
  Edit *edit = nullptr;           ///< decide: keeps, writes or refuses; it erases nothing
  bool reads_old_values = false;  ///< decide: as EditRows::reads_old_values
  Script *script = nullptr;       ///< as EditRows::script
};

/// Shows every row of `find` to `edit`, and carries out its decisions. All of them are carried out, or none.
struct EditRows {
  Find find{};
  Edit *edit = nullptr;
  bool rows_wanted = false;  ///< the reply gets the old values of changed and deleted rows
  /// The privilege that the account needs: true for DELETE, and then the edit writes nothing; false for UPDATE.
  bool erases = false;
  bool writes_too = false;  ///< with `erases`: it may write, too, and needs both privileges; kept rows stay locked
  /// The op before it on this table, in the same step, has locked the row that `find` names and left it in place, by
  /// Verb::lock, an insert that decides, or an edit that `writes_too`. So the engine need not look it up again.
  bool same_row = false;
  /// The new values depend on the old ones, so the account needs the right to read those.
  bool reads_old_values = false;
  /// A script with the same effect in several steps: in Lane::alone it runs in place of this, unless in a unit or a
  /// step.
  Script *script = nullptr;
};

/// Where a paused find goes on; made and understood by the engine alone.
class Position {
 public:
  virtual ~Position() = default;
};

/// How far an op got in the last run.
enum class Progress : uint8_t {
  done,           ///< Reply::done() was called
  paused,         ///< a find that exceeds a turn's bounds, or paused by its reply
  deferred,       ///< a find of large rows beyond the batch's share of them; may run first in the next turn
  busy,           ///< DDL or a table lock holds its table; nothing happened
  locked,         ///< another transaction has locked a row that it would change; nothing happened
  needs_own_run,  ///< a write that cannot share a transaction, a login, or work for the server; nothing happened
  waiting,        ///< not tried, because an earlier op of the same connection is not done
};

struct Op {
  Verb verb = Verb::answer;
  /// answer: its failure; none for a plain acknowledgement. login: the failure without a try, or none.
  Failure failure = Failure::none;
  Progress progress = Progress::done;  ///< set by Executor::run
  bool internal : 1 = false;           ///< the door's own, not a client's: its failure is not counted
  bool tentative : 1 = false;          ///< its failure is not counted: there is another way then
  /// Set by Executor::run and never cleared: its commit is in memory only. Neither its reply nor a later one of its
  /// connection may leave before the next Engine::flush() has ended.
  bool unflushed : 1 = false;
  uint32_t connection = 0;  ///< ops with the same number belong to one connection, in order
  /// The client's account. Null where the protocol needs no login. An identity without an account fails the op, even an
  /// answer, as unauthorized; a missing privilege fails it as privilege_denied.
  Identity *identity = nullptr;
  Reply *reply = nullptr;
  /// open: the slot to fill. script: null, or a table that it will use, in case a job waits for it. Others: their
  /// table; if it is not open the op fails as not_open.
  TableSlot *slot = nullptr;
  union {
    const TableSpec *spec = nullptr;  ///< open
    const Find *find;                 ///< find, lock
    Script *script;                   ///< script
    const Insert *insert;             ///< insert
    const EditRows *edit;             ///< edit
    const Login *login;               ///< login
    const Statement *statement;       ///< statement
  };
  /// Lane::alone: where a paused find keeps its position. Null in a turn: a find that exceeds the turn's bounds pauses
  /// without a position, and starts anew in the slow lane, under its own read view.
  std::unique_ptr<Position> *position = nullptr;
  // Set by Executor::run, summed over all its runs: for logs.
  uint32_t rows_sent = 0;
  uint32_t rows_examined = 0;
};
static_assert(sizeof(Op) <= 64);

/// The script to run in place of the op in Lane::alone; nullptr: none.
inline Script *script_of(const Op &op) {
  switch (op.verb) {
    case Verb::script: return op.script;
    case Verb::insert: return op.insert->script;
    case Verb::edit: return op.edit->script;
    default: return nullptr;
  }
}

/// Whether the op changes or locks rows, and so needs a transaction.
constexpr bool writes(Verb verb) {
  return verb == Verb::insert || verb == Verb::edit || verb == Verb::lock || verb == Verb::script;
}

}  // namespace postern
