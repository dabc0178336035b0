// numbers.h: numbers in and out of Redis's texts. Total: any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/bytes.h"

namespace postern::redis {

/// Reads what Redis takes for an integer: digits with or without a minus, no blanks, no plus, no needless zeros, 64
/// bits.
[[nodiscard]] bool parse_integer(Bytes text, int64_t &number);

/// Reads a float as Redis does: a text that strtold() reads whole, and no blanks before it. Infinities and numbers in
/// hexadecimal are taken, NaN and numbers out of range are not.
[[nodiscard]] bool parse_long_double(Bytes text, long double &number);
[[nodiscard]] bool parse_double(Bytes text, double &number);
/// Reads an end of a range of scores as Redis does, which is laxer there: blanks before it, numbers out of range, and
/// nothing at all, which is 0.
[[nodiscard]] bool parse_score_end(Bytes text, double &score);

/// Room for any number that follows here.
inline constexpr size_t number_bytes_max = 5'200;

/// As `ZSCORE` prints a number: the shortest of 17 digits, `inf`, `-inf`. Returns how many bytes it is.
[[nodiscard]] size_t print_double(char *to, double number);
/// As `INCRBYFLOAT` does: 17 digits after the point without the zeros at their end, and no exponent.
[[nodiscard]] size_t print_long_double(char *to, long double number);

}  // namespace postern::redis
