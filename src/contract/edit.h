// edit.h: how a protocol changes a row: Edit decides, Draft takes the new values.
#pragma once

#include <cstdint>

#include "contract/value.h"

namespace postern {

/// The engine's next step for a row that an edit has seen.
enum class Decision : uint8_t {
  keep,    ///< nothing; the row is not counted
  write,   ///< it takes the values of the draft
  erase,   ///< it is deleted
  refuse,  ///< the op fails as Failure::refused, and changes nothing
  alone,   ///< the op's script must run in its place: a turn leaves the op, elsewhere this is `refuse`
};

/// The new values of one row. Lent by the engine during Edit::present(). Columns are positions in TableSpec::columns;
/// values are converted as strictly as SQL does it in strict mode, and one that does not fit fails the op. Bytes must
/// live until the op is done.
class Draft {
 public:
  /// The sign of a sum.
  enum class Sum : uint8_t {
    kept_sign,     ///< or reached zero, or began there
    changed_sign,  ///< the column went from above zero below it, or from below zero above it
  };

  virtual void set(uint32_t column, const Value &value) = 0;
  /// Adds or subtracts `amount` in the column's own arithmetic: exact for integers and DECIMAL. NULL, in the column or
  /// as `amount`, leaves the column as it is. An amount that is not a number fails the op as not_a_number; a column
  /// that holds no number, or a sum out of range, fails it as bad_value. An UNSIGNED column that would fall below zero
  /// counts as changed_sign.
  virtual Sum add(uint32_t column, const Value &amount, bool subtract) = 0;
  /// Appends `bytes` to the column's value, or prepends them (`at_front`), as CONCAT() does: NULL counts as empty, and
  /// a number as its digits. Stores the result as strictly as set() does: one too long for the column, or for
  /// max_allowed_packet, fails the op as bad_value.
  virtual void extend(uint32_t column, Bytes bytes, bool at_front) = 0;

 protected:
  ~Draft() = default;
};

/// Decides about one row at a time, on the thread that runs the batch. Pure: the same row gives the same decision,
/// because a lost batch is run again. Lives in the batch's arena, so that it needs no destructor.
class Edit {
 public:
  /// `now` is the current row, locked until the decision is carried out.
  virtual Decision present(Row now, Draft &next) = 0;

 protected:
  ~Edit() = default;
};

}  // namespace postern
