// plain_text.h: texts that mean one value whatever the server compares them with, so that an index can be asked for it.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

/// True for an integer of at most 15 digits, which a double holds exactly, without a leading zero, a plus or a blank.
bool is_plain_integer(Bytes text, int64_t &number);

/// True for 'YYYY-MM-DD' of digits, no part of it zero. Whether there is such a day is the caller's to ask.
bool is_plain_date(Bytes text);

/// True for 'YYYY-MM-DD hh:mm:ss' of digits, no part of the date zero, with at most `decimals` digits of a second.
bool is_plain_datetime(Bytes text, uint32_t decimals);

}  // namespace postern::sql
