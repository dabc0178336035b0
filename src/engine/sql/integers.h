// integers.h: numbers in text, and their conversion to SQL's integer columns.
#pragma once

#include <cstdint>
#include <limits>

#include "base/bytes.h"
#include "engine/sql/fit.h"

namespace postern::sql {

/// A type of integer columns: TINYINT has one byte, BIGINT eight.
struct IntegerType {
  uint32_t bytes = 0;  ///< 0: no integer type
  bool is_unsigned = false;

  constexpr uint32_t bits() const { return bytes * 8 - (is_unsigned ? 0 : 1); }
  constexpr uint64_t most() const { return std::numeric_limits<uint64_t>::max() >> (64 - bits()); }
  /// The magnitude of the smallest value.
  constexpr uint64_t least_magnitude() const { return is_unsigned ? 0 : most() + 1; }
};

/// A decimal number, reduced to what an integer column needs.
struct Number {
  bool negative = false;
  bool has_point = false;
  bool fraction = false;  ///< the number has a fraction, so it lies further from zero
  bool overflow = false;  ///< beyond 64 bits; `magnitude` is undefined then
  uint64_t magnitude = 0;

  bool is_integer() const { return !has_point && !overflow; }
};

/// Parses a number that fills all of `text`: an optional sign, digits, and an optional point. False for anything else.
bool parse_number(Bytes text, Number &number);

/// Parses the usual case: up to 18 digits and nothing else, which fit a signed 64-bit integer. False for others.
inline bool parse_short_natural(Bytes text, uint64_t &number) {
  return text.size() <= 18 && parse_natural(text, number);
}

/// The number as a column of the type stores it: itself, its integer part, or the nearest end of the type.
Fit fit_integer(const Number &number, IntegerType type, int64_t &stored);

/// The bound of a range as a column of the type stores it: the integer part downwards, or the nearest end of the type.
/// `given` is a number.
Fit fit_bound(double given, IntegerType type, int64_t &stored);

}  // namespace postern::sql
