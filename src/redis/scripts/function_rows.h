// function_rows.h: FunctionRows, the rows of postern.redis_functions that one command reads and changes, and functions
// that make libraries from them.
//
// Owned by the coroutine that runs its steps. Each call makes the ops of one step, which replace the previous ones.
//
//   FunctionRows rows;
//   const FunctionStateRef state = co_await read_functions(conductor, rows, FunctionRows::Way::reads);
#pragma once

#include <array>
#include <string>
#include <vector>

#include "contract/op.h"
#include "redis/lua/functions.h"
#include "redis/lua/scripts.h"
#include "redis/scripts/conductor.h"

namespace postern::redis {

class FunctionRows {
 public:
  enum class Way : uint8_t {
    reads,    ///< for the door, whatever the client's rights
    changes,  ///< locks all rows, with the client's rights
  };
  struct Stored {
    std::string library;
    std::string code;
  };

  std::span<Op> open(Way way);
  std::span<Op> read(Way way);
  /// Inserts a row, or changes its code.
  std::span<Op> write(const Library &library);
  std::span<Op> erase(Bytes library);
  std::span<Op> erase_all();

  bool opened() const { return slot_.filled(); }
  std::vector<Stored> &stored() { return heard_.stored; }
  /// The outcome of the last step.
  Failure failure() const { return heard_.outcome.failure; }
  void tell_failure(Writer &writer) const;

 private:
  class Heard final : public Reply {
   public:
    Flow row(Row row) override;
    void done(const Outcome &what) override;
    void restart() override;

    std::vector<Stored> stored;
    size_t bytes = 0;
    Outcome outcome;
    std::string message;
  };
  class EraseEdit final : public Edit {
   public:
    Decision present(Row, Draft &) override { return Decision::erase; }
  };

  Op &next(Verb verb);

  TableSlot slot_;
  TableSpec spec_;
  Find find_;
  Insert insert_;
  EditRows edit_;
  EraseEdit erase_;
  std::array<Value, 2> values_;
  Heard heard_;
  Op op_;
};

/// The libraries that are in the table now; a missing table has none. Leaves the turn if a library has to be loaded.
/// Returns nullptr if the table cannot be read: rows.tell_failure().
Task<FunctionStateRef> read_functions(Conductor &conductor, FunctionRows &rows, FunctionRows::Way way);
/// The libraries as read within the last second, or now.
Task<FunctionStateRef> recent_functions(Conductor &conductor, FunctionRows &rows);

/// Runs a library's text, for at most half a second. Returns nullptr with an error.
LibraryRef load_library(Scripts &scripts, lua::Interpreter &interpreter, Bytes code, std::string &wrong);

}  // namespace postern::redis
