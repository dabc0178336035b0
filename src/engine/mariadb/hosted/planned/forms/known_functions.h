// known_functions.h: the functions allowed in a plan.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/reads/recognise.h"

namespace postern::mariadb {

/// Whether it is deterministic in a given context, without side effects.
bool is_known(const Item_func &function);

/// Whether it compares two expressions. With NULL the comparison is part of the plan, as a literal that is no value of
/// the execution: `c = NULL` is true for no row.
bool compares_two(const Item_func &function);

/// Whether only its compared value, but neither its type nor its name, depends on that argument: sums, differences,
/// products, and the number of an INTERVAL. Clients may bind doubles in place of integers, so a sum with parameters
/// counts only if its other operands are small integers, where both give the same result.
bool calculates_with(LEX &lex, ParsedText parsed, Item_func &function, uint argument);
/// The bound on parameters in sums.
inline constexpr int64_t sum_operand_end = int64_t{1} << 31;

/// Functions without arguments that are constant during a statement and may differ in the next.
enum class SessionFunction : uint8_t {
  none,    ///< another function
  number,  ///< a time or a number: may be compared and calculated with
  text,    ///< may only be sent: a constant's text is converted to the character set of the other side
};

SessionFunction session_function(const Item &item);
/// Whether it returns the current time.
bool tells_time(const Item_func &function);

/// Whether it has this name.
bool is_named(const Item_func &function, std::string_view name);

}  // namespace postern::mariadb
