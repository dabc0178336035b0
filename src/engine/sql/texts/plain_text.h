// plain_text.h: texts that mean the same value in every comparison of the server, so that an index lookup can use them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/value.h"

namespace postern::sql {

/// True for an integer of at most 15 digits, which a double holds exactly, without a leading zero, a plus or a blank.
bool is_plain_integer(Bytes text, int64_t &number);

/// The kinds of literals with Value::Spelling::real, which are kept as written.
enum class Written : uint8_t {
  number,     ///< 1.5e3
  date,       ///< DATE'2026-01-31'
  timestamp,  ///< TIMESTAMP'2026-01-31 10:00:00'
  unicode,    ///< _utf8mb4'a', and other introducers with the same bytes in utf8mb4
};

/// The literal's kind. `inside`: the text between its quotes, or a whole number.
Written written(Bytes literal, Bytes &inside);

/// True for a number like 5.0 or 1e3 that is a small integer: servers compare it with integers as an integer.
bool is_integer_as_written(const Value &value, int64_t &number);

/// True for 'YYYY-MM-DD' of digits, with no part zero. The caller has to check whether the day exists.
bool is_plain_date(Bytes text);

/// True for 'YYYY-MM-DD hh:mm:ss' of digits, no part of the date zero, with at most `decimals` digits of a second.
bool is_plain_datetime(Bytes text, uint32_t decimals);

/// True for 32 hexadecimal digits, or 36 characters with hyphens after the 8th, 12th, 16th and 20th digit.
bool is_plain_uuid(Bytes text);

}  // namespace postern::sql
