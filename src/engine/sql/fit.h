// fit.h: Fit, how a value stored in a column compares with the given one.
#pragma once

#include <cstdint>

#include "contract/op.h"

namespace postern::sql {

enum class Fit : uint8_t {
  exact,
  below,    ///< the stored value is the nearest below the given one
  above,    ///< the stored value is the nearest above the given one
  unfit,    ///< the given value cannot be ordered among the column's values
  as_text,  ///< for a range bound: nothing was stored; rows compare with the value as texts
};

template <class T>
constexpr Fit fit_of(T stored, T given) {
  return stored == given ? Fit::exact : stored < given ? Fit::below : Fit::above;
}

/// Translates a `comparison` with the given value into one with an inexact stored value; no column value lies between
/// the two. Comparison::never, and ::unequal (true for every value), do not depend on the stored value.
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

}  // namespace postern::sql
