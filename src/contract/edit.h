// edit.h: how a protocol says what becomes of a row: Edit decides, Draft takes down the new values.
#pragma once

#include <cstdint>

#include "contract/value.h"

namespace postern {

/// What becomes of a row that an edit was shown.
enum class Decision : uint8_t {
  keep,    ///< nothing; the row is not counted
  write,   ///< it takes the values of the draft
  erase,   ///< it is deleted
  refuse,  ///< the op fails as Failure::refused, and does nothing
  alone,   ///< the op's script has to be run in its place: in a turn the op is left, elsewhere this is `refuse`
};

/// The new values of one row. Lent by the engine for the length of Edit::present(). Columns are positions in
/// TableSpec::columns; values are converted as strictly as SQL does it in strict mode, and one that does not fit
/// fails the op. Bytes must live until the op is done.
class Draft {
 public:
  /// How a sum came out.
  enum class Sum : uint8_t {
    kept_sign,     ///< or reached zero, or began there
    changed_sign,  ///< the column went from above zero below it, or from below zero above it
  };

  virtual void set(uint32_t column, const Value &value) = 0;
  /// Adds the number that `amount` is, or subtracts it, in the column's own arithmetic: exact for integers and
  /// DECIMAL. Nothing happens to a column that is NULL, or if `amount` is NULL. An amount that is no number fails
  /// the op as not_a_number, a column that holds none or a sum beyond its range as bad_value; an UNSIGNED column that
  /// would fall below zero has changed its sign.
  virtual Sum add(uint32_t column, const Value &amount, bool subtract) = 0;
  /// Joins `bytes` to the column's value, after it or `at_front` of it, as CONCAT() does: NULL is empty, and a number
  /// is its digits. The result is stored as strictly as set() does it: one too long for the column, or for the server's
  /// max_allowed_packet, fails the op as bad_value.
  virtual void extend(uint32_t column, Bytes bytes, bool at_front) = 0;

 protected:
  ~Draft() = default;
};

/// Decides about one row at a time, on the thread that runs the batch. Pure: the same row gives the same decision,
/// for a batch that was lost is run again. Lives in the batch's arena, so that it needs no destructor.
class Edit {
 public:
  /// `now` is the row as it is, locked, so that nobody else changes it before the decision is carried out.
  virtual Decision present(Row now, Draft &next) = 0;

 protected:
  ~Edit() = default;
};

}  // namespace postern
