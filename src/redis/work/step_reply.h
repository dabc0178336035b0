// step_reply.h: StepReply, how an op of a command's step ended, and its rows.
//
// Owned by the step, and valid as long as its results are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "contract/reply.h"

namespace postern::redis {

/// A value of a row that was read, as text; a number is its digits.
struct Cell {
  bool null = true;
  std::string text{};

  int64_t integer() const;
};
using Cells = std::vector<Cell>;

/// How an op of a step ended, and its rows.
class StepReply final : public Reply {
 public:
  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override;

  std::vector<Cells> rows{};
  /// If there is one it is called with each row, and with the number of rows before it, in place of keeping rows. It
  /// starts again when the first row comes again. With Flow::pause the op fails: it is too much.
  std::function<Flow(Row, uint64_t)> hears{};
  uint64_t met = 0;      ///< rows
  uint64_t changed = 0;  ///< as Outcome::changed
  uint64_t about = 0;    ///< rows that there are, with Find::estimated
  Failure failure = Failure::none;
  std::string message{};

 private:
  size_t bytes_ = 0;  // of rows
};

/// Rows that the ops of these replies have changed, together.
int64_t changed_by(std::span<const StepReply *const> replies);

}  // namespace postern::redis
