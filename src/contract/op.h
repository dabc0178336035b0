// op.h: Op, one parsed request, and what it is made of.
//
// Everything an op points to lives in the batch's arena or in the connection's input, and so until the batch is
// settled. Ops are plain values: they can be run again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/failure.h"
#include "contract/reply.h"
#include "contract/table.h"
#include "contract/value.h"

namespace postern {

enum class Verb : uint8_t {
  answer,  ///< needs no engine, but keeps its place in line; fails with Op::failure
  open,    ///< fills Op::slot from Op::spec
  find,    ///< reads rows by key
};

enum class Comparison : uint8_t {
  equal,
  greater,
  at_least,
  less,
  at_most,
  unequal,  ///< filters only
  never,    ///< filters only: an operator nobody knows holds for no row
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
/// `equal` reads the rows whose first key parts equal `key`; `greater` and `at_least` walk the index upwards from
/// there, `less` and `at_most` downwards. With an IN list the value at `in_part` of the key is replaced by each
/// value of the list in turn: every row of each for `equal`, the first row of each for the others.
struct Find {
  Comparison comparison = Comparison::equal;
  uint32_t in_part = 0;
  std::span<const Value> key{};
  std::span<const Value> in_list{};  ///< empty: no IN list
  uint64_t limit = 1;                ///< rows wanted, counted after filters; at least 1
  uint64_t offset = 0;               ///< rows to leave out first, counted after filters
  std::span<const Filter> filters{};
};

/// Where a paused find goes on; made and understood by the engine alone.
class Position {
 public:
  virtual ~Position() = default;
};

/// How far an op got in the last run.
enum class Progress : uint8_t {
  done,     ///< Reply::done() was called
  paused,   ///< a find that is more work than a turn allows, or whose reply asked to pause
  busy,     ///< its table is held by DDL or a table lock just now; nothing happened
  waiting,  ///< not tried, because an earlier op of the same connection is paused or busy
};

struct Op {
  Verb verb = Verb::answer;
  Failure failure = Failure::none;     ///< answer: how it fails; none for a plain acknowledgement
  Progress progress = Progress::done;  ///< set by Executor::run
  uint32_t connection = 0;             ///< ops with the same number belong to one connection, in order
  Reply *reply = nullptr;
  /// open: to be filled. find, answer: what it acts on; if that is not open the op fails as not_open.
  TableSlot *slot = nullptr;
  union {
    const TableSpec *spec = nullptr;  ///< open
    const Find *find;                 ///< find
  };
  /// Where a paused find keeps its place. Null in a fast turn: there a find that is too much is paused without a
  /// place and starts anew in the slow lane, under its own read view.
  std::unique_ptr<Position> *position = nullptr;
};
static_assert(sizeof(Op) <= 64);

}  // namespace postern
