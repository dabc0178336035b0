// known_functions.h: the functions that may be in a plan.
#pragma once

#include <cstdint>

#include "engine/mariadb/hosted/planned/server.h"
#include "engine/mariadb/hosted/reads/recognise.h"

namespace postern::mariadb {

/// Whether it gives the same for the same arguments in the same context, and leaves no trace elsewhere.
bool is_known(const Item_func &function);

/// Whether its result depends on that argument's value, but neither its type nor its name where it is compared: sums,
/// differences, products, and the number of an INTERVAL. Clients bind doubles where others have integers, too, so that
/// of sums with parameters only such are meant as have small integers beside them, and are the same then.
bool calculates_with(LEX &lex, ParsedText parsed, Item_func &function, uint argument);
/// Parameters in sums are below that.
inline constexpr int64_t sum_operand_end = int64_t{1} << 31;

}  // namespace postern::mariadb
