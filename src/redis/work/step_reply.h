// step_reply.h: StepReply, the outcome and the rows of an op of a command's step.
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

/// The outcome and the rows of an op of a step.
class StepReply final : public Reply {
 public:
  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override;

  std::vector<Cells> rows{};
  /// If set, it is called with each row and the number of rows before it, and rows are not kept. It starts again when
  /// the first row comes again. Flow::pause fails the op as too much.
  std::function<Flow(Row, uint64_t)> hears{};
  uint64_t met = 0;      ///< rows
  uint64_t changed = 0;  ///< as Outcome::changed
  uint64_t about = 0;    ///< the estimate, with Find::estimated
  Failure failure = Failure::none;
  std::string message{};

 private:
  size_t bytes_ = 0;  // of rows
};

/// The sum of rows that the ops of these replies have changed.
int64_t changed_by(std::span<const StepReply *const> replies);

}  // namespace postern::redis
