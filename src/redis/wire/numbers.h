// numbers.h: parses and prints numbers as Redis does. Total: any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/bytes.h"

namespace postern::redis {

/// Parses an integer as Redis does: digits with or without a minus, no blanks, no plus, no leading zeros, 64 bits.
[[nodiscard]] bool parse_integer(Bytes text, int64_t &number);

/// Parses a float as Redis does: a text that strtold() reads whole, without leading blanks. Accepts infinities and
/// hexadecimal numbers, but not NaN or numbers out of range.
[[nodiscard]] bool parse_long_double(Bytes text, long double &number);
[[nodiscard]] bool parse_double(Bytes text, double &number);
/// Parses a bound of a score range as Redis does, which is more lenient: it accepts leading blanks, numbers out of
/// range, and an empty text, which is 0.
[[nodiscard]] bool parse_score_end(Bytes text, double &score);

/// Room for any number printed below.
inline constexpr size_t number_bytes_max = 5'200;

/// Prints a number as `ZSCORE` does: the shortest of up to 17 digits, `inf`, `-inf`. Returns its bytes.
[[nodiscard]] size_t print_double(char *to, double number);
/// Prints a number as `INCRBYFLOAT` does: 17 digits after the point without trailing zeros, and no exponent.
[[nodiscard]] size_t print_long_double(char *to, long double number);

}  // namespace postern::redis
