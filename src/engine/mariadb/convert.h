// convert.h: from a client's text to a column's value, and whether anything was lost on the way.
#pragma once

#include <cstdint>

#include "contract/op.h"

class Field;
class THD;

namespace postern::mariadb {

/// How a value that was stored in a column compares with the value that was given.
enum class Fit : uint8_t {
  exact,
  below,    ///< the stored value is the nearest below the given one
  above,    ///< the stored value is the nearest above the given one
  unfit,    ///< the given value has no place among the column's values
  as_text,  ///< place() only: nothing was stored; rows compare with the value as text does
};

/// Stores a value that is not NULL in `field`, in the record the field points to. Text is taken in the column's own
/// character set, numbers and dates as ASCII. Never rounds or cuts in silence: the result tells.
Fit store(THD *thd, Field *field, Bytes text);

/// The same for the bound of a range: text that is no value of the column means what SQL makes of it where it compares
/// the column with that text. `unfit` here: SQL's answer is NULL, for every row.
Fit place(THD *thd, Field *field, Bytes text);

/// How the text in `field`, of a row, compares with `text`: below 0, 0, above 0.
int compare_as_text(Field *field, Bytes text);

/// `comparison` with the given value, in terms of the stored one, for a stored value that is not exact: nothing lies
/// between the two. Comparison::never and ::unequal (always, for a value) say that the stored one does not matter.
constexpr Comparison adjusted(Comparison comparison, Fit fit) {
  if (fit == Fit::exact) return comparison;
  const bool below = fit == Fit::below;
  switch (comparison) {
    case Comparison::equal: return Comparison::never;
    case Comparison::greater:
    case Comparison::at_least: return below ? Comparison::greater : Comparison::at_least;
    case Comparison::less:
    case Comparison::at_most: return below ? Comparison::at_most : Comparison::less;
    case Comparison::unequal: return Comparison::unequal;
    case Comparison::never: return Comparison::never;
  }
  return comparison;
}

}  // namespace postern::mariadb
